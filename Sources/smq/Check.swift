import CSwiftMQTT

/// smq check: 0 if everything works, otherwise the status of the first step that fails.
func check(_ arguments: Arguments) throws(ExitError) -> Int32 {
  try checkEach(arguments) { () throws(ExitError) in
    // The library checks URLs.
    _ = try clientOptions(arguments, 5)
    if let topic = BrokerURL(arguments.url).topic, !topic.isEmpty {
      throw usageError("the URL: it must not have a topic; use -t")
    }
  } _: { broker, findings in
    Examination(broker, findings, arguments).run()
  }
}
