/// The stages between the name and the protocol that a check reports.
private struct Step {
  let number: Int
  let step: StaticString
  /// The exit status.
  let status: Int32
  let success: Text
}

/// What a connection shows on its way to the protocol.
final class Way {
  /// What TLS told while the connection was open.
  private(set) var tls: TLSInfo?
  private var certificates: [Certificate] = []
  private let stages: [Step]
  private let arguments: CommonArguments

  init(_ loop: EventLoop, _ arguments: CommonArguments) {
    var stages = [
      Step(
        number: Stage.connect, step: "tcp", status: 4,
        success: arguments.isUnix
          ? "the socket is open"
          : arguments.proxy.isEmpty ? "a connection is open" : "a connection to the proxy is open")
    ]
    if !arguments.proxy.isEmpty {
      stages.append(
        Step(number: Stage.proxy, step: "proxy", status: 8, success: "it has connected to the broker"))
    }
    if arguments.wantsTLS {
      stages.append(Step(number: Stage.tls, step: "tls", status: 9, success: "the handshake is done"))
    }
    if arguments.isWebSocket {
      stages.append(
        Step(
          number: Stage.webSocket, step: "websocket", status: 10,
          success: "the server has switched to WebSocket"))
    }
    self.stages = stages
    self.arguments = arguments
    // It can be asked for as long as the connection is open, and may be refused by the protocol.
    if arguments.wantsTLS {
      loop.observer = { client in
        if self.tls == nil { self.look(at: client) }
      }
    }
  }

  private func look(at client: Client) {
    guard let info = client.tls else { return }
    tls = info
    for depth in 0..<min(info.certificates, 10) {
      if let certificate = client.certificate(depth) { certificates.append(certificate) }
    }
  }

  /// false: the connection, or the attempt that has ended, did not come as far as CONNECT.
  func report(_ findings: Findings, _ end: Event?) -> Bool {
    let failed = end.flatMap { event in stages.firstIndex { $0.number == failedStage(event) } }
    for stage in stages[..<(failed ?? stages.count)] {
      if stage.number == Stage.tls, let tls {
        reportTLS(tls, findings)
      } else {
        findings.report(stage.step, .fine, stage.success)
      }
    }
    guard let failed, let event = end else { return true }
    let stage = stages[failed]
    let noConnection: Text = !arguments.hasProxy ? "no connection: " : "no connection to the proxy: "
    let what: Text = stage.number == Stage.connect ? noConnection : ""
    findings.fail(
      stage.step, stage.status, "\(what)\(closeText(event))", advice(event, arguments), failureJSON(event))
    return false
  }

  private func failedStage(_ event: Event) -> Int {
    event.stage == Stage.resolve ? Stage.connect : event.stage
  }

  private func reportTLS(_ tls: TLSInfo, _ findings: Findings) {
    var text: Text = "\(versionName(tls)), \(tls.cipher.escaped)"
    if !tls.alpn.isEmpty { text += ", ALPN \(tls.alpn.escaped)" }
    if tls.certificates == 0 { text += ", with a pre-shared key" }
    findings.report("tls", .fine, "\(text); \(tls.library.escaped)") { json in
      put("protocol", versionName(tls).bytes, &json)
      put("cipher", tls.cipher, &json)
      put("alpn", tls.alpn, &json)
      put("library", tls.library, &json)
    }
    for certificate in certificates { report(certificate, findings) }
  }

  private func report(_ certificate: Certificate, _ findings: Findings) {
    let days = (certificate.notAfter - System.wall.seconds) / 86_400
    let isShort = days < 30
    var text: Text = "\(certificate.subject.escaped), by \(certificate.issuer.escaped)"
    if !certificate.names.isEmpty { text += "; for \(certificate.names.escaped)" }
    text += "; \(day(certificate.notBefore)) to \(day(certificate.notAfter)), \(days) days left"
    let pin = ascii("sha256//") + base64(certificate.pin)
    text += "; \(certificate.key.escaped), \(pin)"
    findings.report(
      "certificate", isShort ? .note : .fine, text,
      advice: isShort ? "renew it soon: connections fail once it has expired" : ""
    ) { json in
      put("subject", certificate.subject, &json)
      put("issuer", certificate.issuer, &json)
      put("names", certificate.names, &json)
      put("not_before", day(certificate.notBefore).bytes, &json)
      put("not_after", day(certificate.notAfter).bytes, &json)
      json.key("days_left")
      json.number(days)
      put("key", certificate.key, &json)
      put("pin", pin, &json)
    }
  }
}

/// Whether the second connection could do without a full handshake. With a pre-shared key each does.
func reportResumption(_ tls: TLSInfo, _ findings: Findings) {
  if tls.isResumed {
    findings.report("resumption", .fine, "a second connection resumed the session")
  } else if tls.certificates > 0 {
    findings.report(
      "resumption", .note, "a second connection needed a full handshake",
      advice: "reconnecting is faster if the broker keeps sessions or gives out tickets")
  }
}

private func versionName(_ tls: TLSInfo) -> Text { tls.version == 0x0304 ? "TLS 1.3" : "TLS 1.2" }

private func put(_ name: StaticString, _ value: [UInt8], _ json: inout JSONWriter) {
  json.key(name)
  json.string(value)
}

/// The numbers of a failure, for programs.
func failureJSON(_ event: Event) -> (inout JSONWriter) -> Void {
  { json in
    json.key("failure")
    json.beginObject()
    put("stage", Library.stageName(event.stage).bytes, &json)
    let failure = event.failure
    let first: [(name: StaticString, value: Int, none: Int)] = [
      ("status", event.status, 0), ("os_error", Int(event.osError), 0),
    ]
    let last: [(name: StaticString, value: Int, none: Int)] = [
      ("http_status", failure.httpStatus, 0), ("socks_reply", failure.socksReply, -1),
      ("close_code", failure.closeCode, 0), ("tls_cause", failure.tlsCause, 0),
      ("tls_alert", failure.alert, -1),
      ("tls_depth", failure.depth, -1),
    ]
    for (name, value, none) in first + event.numbers + last where value != none {
      json.key(name)
      json.number(Int64(value))
    }
    json.endObject()
  }
}
