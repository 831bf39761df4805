/// The words of a bench, and its numbers.
enum BenchText {
  private static let parts: [(StaticString, Int64)] = [
    ("p50", 50_000), ("p90", 90_000), ("p99", 99_000), ("p99.9", 99_900),
  ]

  /// A line for each power of two: how many messages took less, and not less than the line above.
  static func bars(_ histogram: Histogram) -> Text {
    let most = histogram.classes.reduce(1) { max($0, $1.count) }
    var text = Text()
    for line in histogram.classes {
      let bound = microseconds(line.bound * 1000)
      let length = Int((line.count * 40 + most - 1) / most)
      text += Text([UInt8](repeating: 32, count: max(0, 10 - bound.bytes.count)))
      text +=
        "< \(bound)  \([UInt8](repeating: 35, count: length))\([UInt8](repeating: 32, count: 41 - length))"
      text += "\(fraction(thousandths: line.count * 100_000 / histogram.count, places: 2)) %\n"
    }
    return text
  }

  static func seconds(_ nanoseconds: Int64) -> Text {
    fraction(thousandths: nanoseconds / 1_000_000, places: 2)
  }

  static func rate(_ count: Int64, _ nanoseconds: Int64, size: Int64) -> Text {
    let each = perSecond(count, nanoseconds)
    return
      "\(grouped(count)) messages in \(seconds(nanoseconds)) s: \(grouped(each)) a second, \(fraction(thousandths: each * size / 1000, places: 2)) MB/s"
  }

  static func perSecond(_ count: Int64, _ nanoseconds: Int64) -> Int64 {
    nanoseconds <= 0 ? 0 : count * 1_000_000 / max(1, nanoseconds / 1000)
  }

  static func latencies(_ histogram: Histogram) -> Text {
    var text = Text()
    for (name, part) in parts { text += "\(name) \(microseconds(histogram.percentile(part))), " }
    text += "max \(microseconds(histogram.largest))"
    return text
  }

  private static func microseconds(_ nanoseconds: Int64) -> Text {
    if nanoseconds >= 1_000_000_000 {
      return "\(fraction(thousandths: nanoseconds / 1_000_000, places: 2)) s"
    }
    return nanoseconds >= 1_000_000
      ? "\(fraction(thousandths: nanoseconds / 1000, places: 2)) ms" : "\((nanoseconds + 500) / 1000) us"
  }

  static func add(_ name: StaticString, _ histogram: Histogram, to json: inout JSONWriter) {
    json.key(name)
    guard histogram.count > 0 else { return json.raw(ascii("null")) }
    json.beginObject()
    json.key("min")
    json.number(histogram.smallest / 1000)
    json.key("mean")
    json.number(histogram.mean / 1000)
    for (part, number) in parts {
      json.key(part)
      json.number(histogram.percentile(number) / 1000)
    }
    json.key("max")
    json.number(histogram.largest / 1000)
    json.key("classes")
    json.beginArray()
    for line in histogram.classes {
      json.beginObject()
      json.key("below")
      json.number(line.bound)
      json.key("messages")
      json.number(line.count)
      json.endObject()
    }
    json.endArray()
    json.endObject()
  }
}

extension Load {
  /// The lines of the result; what was done with the messages, and what came back.
  func words(sent: StaticString, acknowledged: StaticString) -> Text {
    var text: Text = "connected   in \(BenchText.seconds(connecting)) s\n"
    text += "\(sent) \(BenchText.rate(published, publishing, size: arguments.size))\n"
    if arguments.subscribers > 0 {
      text += "received    \(BenchText.rate(received, receiving, size: arguments.size))\n"
    }
    if lost > 0 { text += "lost        \(grouped(lost)) of \(grouped(expected))\n" }
    if failed > 0 { text += "failed      \(grouped(failed))\n" }
    if disconnections > 0 {
      text += "broken      \(grouped(disconnections)) connections; the last of a \(lastBreak)\n"
    }
    for (name, histogram) in [("delivery   ", delivery), (acknowledged, acknowledgement)]
      as [(StaticString, Histogram)]
    where histogram.count > 0 {
      text += "\(name) \(BenchText.latencies(histogram))\n\(BenchText.bars(histogram))"
    }
    return text
  }

  /// The result as JSON: after the program's numbers, those of the load. `sent` has the names of the count, the time and
  /// the rate.
  func object(
    _ own: [(StaticString, Int64)], sent: (StaticString, StaticString, StaticString),
    acknowledged: StaticString
  ) -> Text {
    var json = JSONWriter(isPretty: false)
    json.beginObject()
    let numbers: [(StaticString, Int64)] = [
      ("connecting_us", connecting / 1000), (sent.0, published), (sent.1, publishing / 1000),
      (sent.2, BenchText.perSecond(published, publishing)), ("received", received),
      ("receiving_us", receiving / 1000), ("received_per_s", BenchText.perSecond(received, receiving)),
      ("lost", lost), ("failed", failed), ("disconnections", disconnections),
    ]
    for (name, number) in own + numbers {
      json.key(name)
      json.number(number)
    }
    BenchText.add("delivery_us", delivery, to: &json)
    BenchText.add(acknowledged, acknowledgement, to: &json)
    json.endObject()
    return Text(json.bytes + [10])
  }
}
