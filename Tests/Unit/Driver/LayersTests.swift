import Driver
import Platform
import Storage
import Testing
import Transports

/// Proxy, TLS and WebSocket between a driver and its socket, on a virtual clock. `MaskingEngine` stands in for TLS.
@Suite(.serialized) struct LayersTests {
  private static func at(_ network: TestNetwork) -> Instant { Instant(milliseconds: network.now) }

  typealias Harness = DriverHarness<AnyTransport, TestSystem>

  static func connected(
    _ network: TestNetwork, _ memory: Memory
  ) -> Harness {
    let driver = memory.driver(memory.layered(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    return driver
  }

  /// What was sent behind what was looked at before.
  static func sent(_ network: TestNetwork, from offset: Int = 0) -> String {
    String(decoding: network.opened.last?.sent.dropFirst(offset) ?? [], as: UTF8.self)
  }

  static func end(of driver: Harness) -> (cause: FailureCause, stage: FailureStage)? {
    guard case .disconnected(let failure) = driver.nextEvent() else { return nil }
    return (failure.cause, failure.stage)
  }

  // MARK: TLS

  @Test func recordsBothWays() {
    let (network, memory) = (TestNetwork(), Memory("server.", layers: .init(hasTLS: true)))
    let (begun, ended) = (MaskingEngine.begun, MaskingEngine.ended)
    let driver = Self.connected(network, memory)
    #expect(Self.sent(network) == ">")
    // A certificate has no dot at its end.
    #expect(MaskingEngine.names.last == "server")
    #expect(driver.isOpen == false)
    network.opened.last!.received += Array("<<".utf8)
    _ = driver.wait(timeout: 10)
    #expect(MaskingEngine.text(network.opened.last!.sent) == "HELLO\n")
    network.opened.last!.received += MaskingEngine.record("OK\n") + MaskingEngine.record("one\ntwo\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK", "one", "two"])

    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: driver.time)
    // It says that it ends before its socket does.
    #expect(MaskingEngine.text(network.opened.last!.sent) == "HELLO\nBYE\n|")
    #expect(network.opened.last!.isShutDown)
    #expect(MaskingEngine.ended == ended)
    network.opened.last!.isClosed = true
    #expect(driver.wait(timeout: 10) == .event)
    #expect(MaskingEngine.begun == begun + 1)
    #expect(MaskingEngine.ended == ended + 1)
  }

  /// Records of 3 bytes, in reads of 1 and writes of 1.
  @Test func aByteAtATime() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    network.room = 1
    let driver = Self.connected(network, memory)
    let all = Array("<<".utf8) + MaskingEngine.record("OK\n") + MaskingEngine.record("abcdef\n")
    var lines: [String] = []
    for byte in all {
      network.room = 1
      network.opened.last!.received.append(byte)
      _ = driver.wait(timeout: 1)
      lines += driver.lines()
    }
    for _ in 0..<10 {
      network.room = 1
      _ = driver.wait(timeout: 1)
    }
    #expect(lines == ["OK", "abcdef"])
    #expect(MaskingEngine.text(network.opened.last!.sent) == "HELLO\n")
  }

  /// Much more than the engine has room for comes at once, and the system tells of it as long as it is there.
  @Test func manyRecordsAtOnce() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    let records = (0..<40).map { "record \($0)" }
    network.opened.last!.received += Array("<<".utf8)
    network.opened.last!.received += records.flatMap { MaskingEngine.record($0 + "\n") }
    let begun = network.now
    var lines: [String] = []
    for _ in 0..<200 where lines.count < 40 {
      _ = driver.wait(timeout: 1000)
      lines += driver.lines()
    }
    #expect(lines == records)
    #expect(network.now == begun)
    #expect(driver.wait(timeout: 100) == .nothing)
    #expect(network.now == begun + 100)
  }

  @Test func aSilentHandshake() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array("<".utf8)
    let begun = network.now
    #expect(driver.wait(timeout: 10_000) == .event)
    // The attempt has had 3,000 ms, of which 10 were over.
    #expect(network.now == begun + 2990)
    let end = Self.end(of: driver)
    #expect(end?.stage == .tls)
    guard case .timeout = end?.cause else {
      Issue.record("no timeout")
      return
    }
  }

  @Test(arguments: ["", "<"])
  func thePeerClosesInTheHandshake(first: String) {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array(first.utf8)
    network.opened.last!.isClosed = true
    #expect(driver.wait(timeout: 10) == .event)
    let cause = driver.tlsFailure
    let end = Self.end(of: driver)
    #expect(end?.stage == .tls)
    guard case .layer(.tls) = end?.cause else {
      Issue.record("another cause")
      return
    }
    // Who closes at once does not speak TLS.
    #expect(cause == (first.isEmpty ? 18 : 19))
  }

  @Test func thePeerSpeaksSomethingElse() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.say("OK\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.tlsFailure == 18)
    #expect(Self.end(of: driver)?.stage == .tls)
  }

  /// In TLS 1.3 a client certificate is refused when the client's handshake is over.
  @Test(arguments: [false, true])
  func anAlertBehindTheHandshake(isAccepted: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array("<<".utf8)
    _ = driver.wait(timeout: 10)
    if isAccepted {
      network.opened.last!.received += MaskingEngine.record("OK\n")
      _ = driver.wait(timeout: 10)
      _ = driver.lines()
    }
    network.opened.last!.received += [255, 116]
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.tlsFailure == 13)
    let end = Self.end(of: driver)
    guard case .layer(.tls) = end?.cause else {
      Issue.record("another cause")
      return
    }
    #expect(end?.stage == (isAccepted ? .connected : .tls))
  }

  /// Behind a record it is read with it, but told once: no engine is asked again after a failure.
  @Test func anAlertBehindARecord() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let failures = MaskingEngine.failures
    let driver = Self.connected(network, memory)
    network.opened.last!.received +=
      Array("<<".utf8) + MaskingEngine.record("OK\n") + MaskingEngine.record("one\n") + [255, 116]
    var lines: [String] = []
    for _ in 0..<5 {
      _ = driver.wait(timeout: 10)
      lines += driver.lines()
    }
    #expect(lines == ["OK", "one"])
    guard case .layer(.tls) = Self.end(of: driver)?.cause else {
      Issue.record("another cause")
      return
    }
    #expect(driver.tlsFailure == 13)
    #expect(MaskingEngine.failures == failures + 1)
  }

  /// A library takes the empty name for none to be checked, and one with a dot in front for all names below it.
  @Test(arguments: [".server", ".", "%eth0"])
  func aNameThatNoCertificateIsFor(name: String) {
    let (network, memory) = (TestNetwork(), Memory(name, layers: .init(hasTLS: true)))
    let begun = MaskingEngine.begun
    let driver = Self.connected(network, memory)
    #expect(driver.tlsFailure == 5)
    #expect(Self.end(of: driver)?.stage == .tls)
    #expect(MaskingEngine.begun == begun)
    #expect(Self.sent(network) == "")
  }

  /// The alert is there, though the system has reset the connection since, and sending fails.
  @Test func anAlertBehindAReset() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array("<<".utf8) + [255, 116]
    network.sendError = 104
    #expect(driver.wait(timeout: 10) == .event)
    let end = Self.end(of: driver)
    guard case .layer(.tls) = end?.cause else {
      Issue.record("another cause")
      return
    }
    #expect(end?.stage == .tls)
  }

  @Test func theEngineCannotBegin() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true), port: 666))
    let driver = Self.connected(network, memory)
    #expect(driver.tlsFailure == 20)
    #expect(Self.end(of: driver)?.stage == .tls)
  }

  /// The system takes part of a record, then nothing.
  @Test func aBlockedRecord() {
    let (network, memory) = (TestNetwork(), Memory("server", writeTimeout: 500, layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.room = 3
    network.opened.last!.received += Array("<<".utf8)
    _ = driver.wait(timeout: 10)
    #expect(network.opened.last!.sent.count == 4)
    #expect(network.watched[0].writable)
    let begun = network.now
    // Bytes that the system takes begin the time anew.
    _ = driver.wait(timeout: 400)
    network.room = 1
    _ = driver.wait(timeout: 1)
    #expect(network.opened.last!.sent.count == 5)
    #expect(driver.wait(timeout: 400) == .nothing)
    #expect(driver.wait(timeout: 400) == .event)
    #expect(network.now == begun + 900)
    let end = Self.end(of: driver)
    #expect(end?.stage == .write)
  }

  /// Nothing waits for a socket that would take bytes, if there are none.
  @Test func aSocketWithRoomIsNotWatched() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    network.room = 0
    let driver = Self.connected(network, memory)
    network.room = nil
    network.opened.last!.received += Array("<<".utf8)
    _ = driver.wait(timeout: 10)
    #expect(MaskingEngine.text(network.opened.last!.sent) == "HELLO\n")
    #expect(!network.watched[0].writable)
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    network.room = 0
    _ = driver.service(at: driver.time)
    #expect(network.watched[0].writable)
    network.room = nil
    _ = driver.service(at: driver.time)
    #expect(!network.watched[0].writable)
    #expect(network.opened.last!.isShutDown)
  }

  /// The system has no room for the last word of a layer: the socket is watched until it has, and no longer.
  @Test func aLastWordWithoutRoom() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array("<<".utf8) + MaskingEngine.record("OK\n")
    _ = driver.wait(timeout: 10)
    _ = driver.lines()
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    network.room = MaskingEngine.record("BYE\n").count
    _ = driver.service(at: driver.time)
    #expect(MaskingEngine.text(network.opened.last!.sent) == "HELLO\nBYE\n")
    #expect(network.watched[0].writable && !network.opened.last!.isShutDown)
    network.room = nil
    _ = driver.wait(timeout: 1)
    #expect(MaskingEngine.text(network.opened.last!.sent) == "HELLO\nBYE\n|")
    #expect(!network.watched[0].writable && network.opened.last!.isShutDown)
  }

  /// What came with the proxy's answer and nobody has read belongs to the connection that is over.
  @Test func theNextAttemptThroughAProxy() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(proxy: .http)))
    let driver = Self.connected(network, memory)
    network.say("HTTP/1.1 200 Fine\r\n\r\nOK\n" + String(repeating: "old\n", count: 50))
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: driver.time)
    network.opened.last!.isClosed = true
    _ = driver.lines()
    #expect(driver.wait(timeout: 10) == .event)
    guard case .disconnected = driver.nextEvent() else {
      Issue.record("no end")
      return
    }
    #expect(driver.connect(at: driver.time))
    _ = driver.wait(timeout: 10)
    network.say("HTTP/1.1 200 Fine\r\n\r\nOK\nnew\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK", "new"])
  }

  /// The next attempt begins with nothing of the last one.
  @Test func theNextAttempt() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(hasTLS: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array("<<".utf8) + MaskingEngine.record("OK\n") + [9]
    _ = driver.wait(timeout: 10)
    _ = driver.lines()
    network.opened.last!.isClosed = true
    #expect(driver.wait(timeout: 10) == .event)
    #expect(Self.end(of: driver)?.stage == .connected)
    _ = driver.wait(timeout: 600)
    #expect(network.opened.count == 2)
    _ = driver.wait(timeout: 10)
    #expect(Self.sent(network) == ">")
    network.opened.last!.received += Array("<<".utf8) + MaskingEngine.record("OK\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK"])
  }

  // MARK: WebSocket

  /// That of sixteen bytes of 4, which the test's system draws.
  static let accept = "Sec-WebSocket-Accept: \(acceptKey)\r\n"
  static let acceptKey = "qxuoi6TdLAVblW3X0cuvPg6Ld2A="
  static let upgrade =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"

  static func frame(_ text: String, opcode: UInt8 = 2) -> [UInt8] {
    [0x80 | opcode, UInt8(text.utf8.count)] + text.utf8
  }

  /// The payloads of the frames that the client has sent; those of control frames have their opcode in front.
  private static func frames(_ bytes: some Sequence<UInt8>) -> String {
    var rest = Array(bytes)
    var text = ""
    while rest.count >= 6, rest[1] & 0x80 != 0 {
      let count = Int(rest[1] & 0x7F)
      guard rest.count >= 6 + count else { break }
      let payload = (0..<count).map { rest[6 + $0] ^ rest[2 + $0 % 4] }
      let opcode = rest[0] & 15
      text +=
        (opcode == 2 ? "" : "<\(opcode)>")
        + (opcode == 8 ? "\(payload)" : String(decoding: payload, as: UTF8.self))
      rest.removeFirst(6 + count)
    }
    return text
  }

  @Test(arguments: [false, true])
  func aWebSocket(isSplit: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(isWebSocket: true)))
    let driver = Self.connected(network, memory)
    let request = Self.sent(network)
    #expect(request.hasPrefix("GET /mqtt?x=1 HTTP/1.1\r\nHost: server:1234\r\n"))
    #expect(request.contains("\r\nSec-WebSocket-Key: BAQEBAQEBAQEBAQEBAQEBA==\r\n"))
    #expect(request.contains("\r\nSec-WebSocket-Protocol: line\r\n"))
    // A frame comes right behind the answer.
    let all =
      Array((Self.upgrade + Self.accept + "\r\n").utf8) + Self.frame("ping", opcode: 9) + Self.frame("O")
      + Self.frame("K\n") + Self.frame("one\ntwo\n")
    var lines: [String] = []
    for piece in isSplit ? all.map({ [$0] }) : [all] {
      network.opened.last!.received += piece
      _ = driver.wait(timeout: 1)
      lines += driver.lines()
    }
    lines += driver.lines()
    #expect(lines == ["OK", "one", "two"])
    let answer = Self.frames(network.opened.last!.sent.dropFirst(request.utf8.count))
    #expect(answer == "HELLO\n<10>ping" || answer == "<10>pingHELLO\n")

    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: driver.time)
    #expect(
      Self.frames(network.opened.last!.sent.dropFirst(request.utf8.count)) == answer + "BYE\n<8>[3, 232]")
    #expect(network.opened.last!.isShutDown)
  }

  /// TLS fails to take the request, or a frame: the connection is over, and does not wait for a timeout.
  @Test(arguments: [0, 10])
  func tlsBelowAWebSocketCannotWrite(records: Int) {
    let (network, memory) = (
      TestNetwork(), Memory("server", layers: .init(hasTLS: true, isWebSocket: true))
    )
    defer { MaskingEngine.recordsLeft = Int.max }
    MaskingEngine.recordsLeft = records
    let driver = Self.connected(network, memory)
    let begun = network.now
    let failures = MaskingEngine.failures
    network.opened.last!.received += Array("<<".utf8)
    _ = driver.wait(timeout: 10)
    if records > 0 {
      MaskingEngine.recordsLeft = 0
      Self.answer(Self.frame("OK\n"), network)
      for _ in 0..<5 {
        _ = driver.wait(timeout: 10)
        _ = driver.lines()
      }
    }
    guard case .layer(.tls) = Self.end(of: driver)?.cause else {
      Issue.record("another cause")
      return
    }
    #expect(driver.tlsFailure == 22)
    #expect(MaskingEngine.failures == failures + 1)
    #expect(network.now < begun + 100)
  }

  /// Has the server accept the WebSocket over TLS, and say these frames.
  private static func answer(_ frames: [UInt8], _ network: TestNetwork) {
    let answer = Array((upgrade + accept + "\r\n").utf8) + frames
    for start in stride(from: 0, to: answer.count, by: 50) {
      let part = answer[start..<min(start + 50, answer.count)]
      network.opened.last!.received += [UInt8(part.count)] + part.map { $0 ^ MaskingEngine.mask }
    }
  }

  @Test func theServerClosesTheWebSocket() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(isWebSocket: true)))
    let driver = Self.connected(network, memory)
    let request = Self.sent(network)
    network.opened.last!.received +=
      Array((Self.upgrade + Self.accept + "\r\n").utf8) + Self.frame("OK\nlast\n")
    network.opened.last!.received += [0x88, 5, 3, 243] + Array("bye".utf8)
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK", "last"])
    _ = driver.wait(timeout: 10)
    #expect(driver.layerFailure?.closeCode == 1011)
    let end = Self.end(of: driver)
    guard case .layer(.webSocket) = end?.cause else {
      Issue.record("another cause")
      return
    }
    // Close is answered with its code.
    #expect(
      Self.frames(network.opened.last!.sent.dropFirst(request.utf8.count)).hasSuffix("<8>[3, 243]"))
  }

  @Test func aRuleOfWebSocketIsBroken() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(isWebSocket: true)))
    let driver = Self.connected(network, memory)
    network.opened.last!.received += Array((Self.upgrade + Self.accept + "\r\n").utf8)
    network.opened.last!.received += Self.frame("OK\n", opcode: 1)
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.layerFailure?.closeCode == 1003)
    #expect(Self.end(of: driver)?.stage == .accept)
    #expect(Self.frames(network.opened.last!.sent.suffix(8)) == "<8>[3, 235]")
  }

  @Test func theWebServerRefuses() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(isWebSocket: true)))
    let driver = Self.connected(network, memory)
    network.say("HTTP/1.1 403 Not for you\r\nContent-Length: 2\r\n\r\nno")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.layerFailure?.httpStatus == 403)
    let end = Self.end(of: driver)
    #expect(end?.stage == .webSocket)
    guard case .layer(.webSocket) = end?.cause else {
      Issue.record("another cause")
      return
    }
  }

  // MARK: Proxies

  @Test func throughAProxyToTLSAndAWebSocket() {
    let (network, memory) = (
      TestNetwork(), Memory("server", layers: .init(proxy: .socks5, hasTLS: true, isWebSocket: true))
    )
    let driver = Self.connected(network, memory)
    let socket = network.opened.last!
    #expect(socket.target == "1080")
    #expect(socket.sent == [5, 2, 0, 2])
    socket.received += [5, 2]
    _ = driver.wait(timeout: 10)
    #expect(Array(socket.sent.dropFirst(4)) == [1, 2] + Array("me".utf8) + [2] + Array("me".utf8))
    socket.received += [1, 0]
    _ = driver.wait(timeout: 10)
    // The proxy looks the name up.
    #expect(Array(socket.sent.dropFirst(11)) == [5, 1, 0, 3, 6] + Array("server".utf8) + [4, 210])
    socket.received += [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    _ = driver.wait(timeout: 10)
    #expect(Array(socket.sent.dropFirst(24)) == Array(">".utf8))
    socket.sent.removeFirst(24)
    socket.received += Array("<<".utf8)
    _ = driver.wait(timeout: 10)
    #expect(MaskingEngine.text(socket.sent).hasPrefix("GET /mqtt?x=1 HTTP/1.1\r\n"))
    let answer = Array((Self.upgrade + Self.accept + "\r\n").utf8) + Self.frame("OK\n")
    for start in stride(from: 0, to: answer.count, by: 50) {
      let part = answer[start..<min(start + 50, answer.count)]
      socket.received += [UInt8(part.count)] + part.map { $0 ^ MaskingEngine.mask }
      _ = driver.wait(timeout: 10)
    }
    #expect(driver.lines() == ["OK"])
  }

  @Test func theProxyRefuses() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(proxy: .http)))
    let driver = Self.connected(network, memory)
    #expect(
      Self.sent(network)
        == "CONNECT server:1234 HTTP/1.1\r\nHost: server:1234\r\nProxy-Authorization: Basic bWU6bWU=\r\n\r\n")
    network.say("HTTP/1.0 407 Log in\r\n\r\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.layerFailure?.httpStatus == 407)
    let end = Self.end(of: driver)
    #expect(end?.stage == .proxy)
    guard case .layer(.proxy) = end?.cause else {
      Issue.record("another cause")
      return
    }
  }

  /// Behind the proxy there is nothing but the protocol.
  @Test func throughAProxy() {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(proxy: .http)))
    let driver = Self.connected(network, memory)
    let size = network.opened.last!.sent.count
    network.say("HTTP/1.1 200 Fine\r\n\r\nOK\none\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK", "one"])
    network.say("two\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["two"])
    #expect(Self.sent(network, from: size) == "HELLO\n")
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: driver.time)
    #expect(Self.sent(network, from: size) == "HELLO\nBYE\n")
    #expect(network.opened.last!.isShutDown)
  }

  // MARK: The application's own transport

  @Test(arguments: [1, 1000])
  func withoutSockets(piece: Int) {
    let memory = Memory("server", layers: .init(kind: .callerDriven, hasTLS: true))
    let driver = memory.driver(memory.layered(), NoSystem())
    var now = Instant(milliseconds: 5)
    _ = driver.connect(at: now)
    guard case .transportWanted = driver.nextEvent() else {
      Issue.record("no transport wanted")
      return
    }
    #expect(driver.opened(at: now))
    // A second one is not wanted.
    #expect(!driver.opened(at: now))
    var sent: [UInt8] = []
    func pump() {
      while driver.prepareTransmit(at: now) {
        sent += driver.outputBytes.prefix(piece)
        #expect(driver.transmitted(min(piece, driver.outputSize), at: now))
      }
    }
    func take(_ bytes: [UInt8]) {
      for start in stride(from: 0, to: bytes.count, by: piece) {
        now = now.advanced(by: 1)
        #expect(driver.received(bytes: Array(bytes[start..<min(start + piece, bytes.count)]), at: now))
      }
    }
    pump()
    #expect(sent == Array(">".utf8))
    take(Array("<<".utf8))
    pump()
    #expect(MaskingEngine.text(sent) == "HELLO\n")
    take(MaskingEngine.record("OK\n") + MaskingEngine.record("one\n"))
    var lines = driver.lines()
    // What an event kept waiting is read when it has been taken.
    if piece == 1 { #expect(driver.nextTimeout(at: now) == 0) }
    _ = driver.service(at: now)
    lines += driver.lines()
    #expect(lines == ["OK", "one"])
    _ = driver.beginDisconnect(drain: 0, at: now)
    pump()
    #expect(MaskingEngine.text(sent) == "HELLO\nBYE\n|")
    guard case .disconnected(let failure) = driver.nextEvent(), case .requested = failure.cause else {
      Issue.record("no end")
      return
    }
  }

  /// A proxy that does not wait for the request gets all of it nevertheless, and then the next one.
  @Test(arguments: [1, 3])
  func aProxyAnswersBeforeItIsAsked(taken: Int) {
    let memory = Memory("server", layers: .init(kind: .callerDriven, proxy: .socks5))
    let driver = memory.driver(memory.layered(), NoSystem())
    let now = Instant(milliseconds: 5)
    _ = driver.connect(at: now)
    _ = driver.nextEvent()
    #expect(driver.opened(at: now))
    var sent: [UInt8] = []
    func take(_ count: Int) {
      guard driver.prepareTransmit(at: now) else { return }
      sent += driver.outputBytes.prefix(count)
      #expect(driver.transmitted(min(count, driver.outputSize), at: now))
    }
    take(taken)
    #expect(driver.received(bytes: [5, 2, 1, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Array("OK\n".utf8), at: now))
    #expect(!driver.isOpen)
    for _ in 0..<100 { take(taken) }
    let connect = [5, 1, 0, 3, 6] + Array("server".utf8) + [4, 210]
    #expect(
      sent == [5, 2, 0, 2, 1, 2] + Array("me".utf8) + [2] + Array("me".utf8) + connect + Array("HELLO\n".utf8)
    )
    _ = driver.service(at: now)
    #expect(driver.lines() == ["OK"])
  }

  /// It says why it does not want to hear the rest.
  @Test func aProxyRefusesBeforeItIsAsked() {
    let memory = Memory("server", layers: .init(kind: .callerDriven, proxy: .http))
    let driver = memory.driver(memory.layered(), NoSystem())
    let now = Instant(milliseconds: 5)
    _ = driver.connect(at: now)
    _ = driver.nextEvent()
    #expect(driver.opened(at: now))
    #expect(driver.received("HTTP/1.1 503 Too busy\r\n\r\n", at: now))
    #expect(driver.layerFailure?.httpStatus == 503)
    guard case .disconnected(let failure) = driver.nextEvent(), case .layer(.proxy) = failure.cause else {
      Issue.record("no end")
      return
    }
  }

  /// The same over the application's own transport.
  @Test func tlsBelowAWebSocketCannotWriteWithoutSockets() {
    let memory = Memory("server", layers: .init(kind: .callerDriven, hasTLS: true, isWebSocket: true))
    let driver = memory.driver(memory.layered(), NoSystem())
    let now = Instant(milliseconds: 5)
    defer { MaskingEngine.recordsLeft = Int.max }
    MaskingEngine.recordsLeft = 0
    _ = driver.connect(at: now)
    _ = driver.nextEvent()
    #expect(driver.opened(at: now))
    #expect(driver.prepareTransmit(at: now))
    #expect(driver.transmitted(1, at: now))
    #expect(driver.received(bytes: Array("<<".utf8), at: now))
    #expect(!driver.prepareTransmit(at: now))
    guard case .disconnected(let failure) = driver.nextEvent(), case .layer(.tls) = failure.cause else {
      Issue.record("no end")
      return
    }
    #expect(driver.tlsFailure == 22)
  }

  /// What lies in the layers when the application's transport has ended is handed out.
  @Test func recordsBehindTheEndOfTheApplicationsTransport() {
    let memory = Memory("server", layers: .init(kind: .callerDriven, hasTLS: true))
    let driver = memory.driver(memory.layered(), NoSystem())
    let now = Instant(milliseconds: 5)
    _ = driver.connect(at: now)
    _ = driver.nextEvent()
    _ = driver.opened(at: now)
    #expect(driver.received(bytes: Array("<<".utf8) + MaskingEngine.record("OK\n"), at: now))
    #expect(driver.received(bytes: MaskingEngine.record("one\n") + MaskingEngine.record("two\n"), at: now))
    #expect(driver.closed(error: 0, at: now))
    var lines: [String] = []
    for _ in 0..<10 {
      lines += driver.lines()
      _ = driver.service(at: now)
    }
    #expect(lines == ["OK", "one", "two"])
    guard case .disconnected(let failure) = driver.nextEvent(), case .closed = failure.cause else {
      Issue.record("no end")
      return
    }
  }
}
