import Driver
import Platform
import Storage
import Testing
import Transports

/// Layers that have little room, little time, or bytes that nobody has read when the end comes. They count what the
/// system was asked: a client that goes round and round asks without end.
extension LayersTests {
  private static func connectedThroughTLS(
    _ network: TestNetwork, writeTimeout: UInt32 = 0, port: UInt16 = 1234
  ) -> Harness {
    let driver = connected(
      network, Memory("server", writeTimeout: writeTimeout, layers: .init(hasTLS: true), port: port))
    network.opened.last!.received += Array("<<".utf8)
    return driver
  }

  // MARK: Time

  /// The race is over when a connection stands: its deadline counts no more while the layers on it open.
  @Test(arguments: 0..<3)
  func noOtherAddressWhileTheLayersOpen(which: Int) {
    let layers: [Memory.Layered] = [.init(hasTLS: true), .init(isWebSocket: true), .init(proxy: .http)]
    let (network, memory) = (TestNetwork(), Memory("server", layers: layers[which]))
    network.addresses = 2
    let driver = Self.connected(network, memory)
    let (begun, waits) = (network.now, network.waits)
    #expect(driver.nextTimeout(at: driver.time) > 1000)
    #expect(driver.wait(timeout: 1000) == .nothing)
    #expect(network.opened.count == 1)
    #expect(network.now == begun + 1000)
    #expect(network.waits == waits + 1)
  }

  /// There is more to send than a record takes, and the system takes a part of that.
  @Test func aPartOfARecordIsProgress() {
    let network = TestNetwork()
    let driver = Self.connectedThroughTLS(network, writeTimeout: 500)
    network.opened.last!.received += MaskingEngine.record("OK\n")
    _ = driver.wait(timeout: 10)
    #expect(driver.lines() == ["OK"])
    network.room = 0
    driver.say(String(repeating: "x", count: 3 * MaskingEngine.longestRecord))
    #expect(driver.wait(timeout: 400) == .nothing)
    let begun = network.now
    for _ in 0..<5 {
      network.room = 7
      #expect(driver.wait(timeout: 400) == .nothing)
    }
    #expect(driver.wait(timeout: 400) == .event)
    #expect(network.now == begun + 4 * 400 + 500)
    #expect(Self.end(of: driver)?.stage == .write)
  }

  // MARK: Room

  /// A certificate chain, for example, that is longer than the engine's buffer.
  @Test(arguments: [nil, 10])
  func aHandshakeLargerThanTheBuffer(room: Int?) {
    let network = TestNetwork()
    let driver = Self.connectedThroughTLS(network, port: 667)
    let begun = network.now
    for _ in 0..<(room == nil ? 1 : 200) {
      network.room = room
      _ = driver.wait(timeout: 1)
    }
    let sent = network.opened.last!.sent
    let end = 1 + Int(MaskingEngine.flight)
    #expect(String(decoding: sent.prefix(end), as: UTF8.self) == ">" + String(repeating: "+", count: end - 1))
    #expect(MaskingEngine.text([UInt8(ascii: ">")] + sent.dropFirst(end)) == "HELLO\n")
    #expect(driver.isOpen)
    // It took turns, and no time.
    if room == nil { #expect(network.now &- begun <= 1) }
  }

  /// The application's transport takes a part, and the engine goes on when it is asked to.
  @Test func aHandshakeLargerThanTheBufferWithoutSockets() {
    let memory = Memory("server", layers: .init(kind: .callerDriven, hasTLS: true), port: 667)
    let driver = memory.driver(memory.layered(), NoSystem())
    let now = Instant(milliseconds: 5)
    _ = driver.connect(at: now)
    _ = driver.nextEvent()
    _ = driver.opened(at: now)
    var sent: [UInt8] = []
    func pump() {
      // As smq_next_timeout_ms() says: at once, as long as it says 0.
      for _ in 0..<100 {
        while driver.prepareTransmit(at: now) {
          sent += driver.outputBytes
          #expect(driver.transmitted(driver.outputSize, at: now))
        }
        guard driver.nextTimeout(at: now) == 0 else { break }
        _ = driver.service(at: now)
      }
    }
    pump()
    #expect(driver.received("<<", at: now))
    pump()
    #expect(sent.count > Int(MaskingEngine.flight))
    #expect(driver.isOpen)
    let rest = sent.dropFirst(1 + Int(MaskingEngine.flight))
    #expect(MaskingEngine.text([UInt8(ascii: ">")] + rest) == "HELLO\n")
  }

  /// The tunnel stands: what was made for the proxy's handshake has no part in it any more.
  @Test(arguments: [false, true])
  func aLongMessageBehindAProxy(isHTTP: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server", layers: .init(proxy: isHTTP ? .http : .socks5)))
    let driver = Self.connected(network, memory)
    let answers: [[UInt8]] =
      isHTTP
      ? [Array("HTTP/1.1 200 Fine\r\n\r\n".utf8)] : [[5, 2], [1, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]]
    for answer in answers {
      network.opened.last!.received += answer
      _ = driver.wait(timeout: 10)
    }
    network.say("OK\n")
    _ = driver.wait(timeout: 10)
    #expect(driver.lines() == ["OK"])
    let (size, sends) = (network.opened.last!.sent.count, network.sends)
    let line = String(repeating: "x", count: 100_000)
    driver.say(line)
    _ = driver.wait(timeout: 10)
    #expect(Self.sent(network, from: size) == line + "\n")
    #expect(network.sends == sends + 1)
  }

  // MARK: The end

  private static let lines = (0..<30).map { "line \($0)" }

  /// What the server has said before it closed is handed out, a line at a time, and then the end.
  @Test(arguments: [false, true])
  func theServerClosesBehindMuch(isWebSocket: Bool) {
    let (network, memory) = (
      TestNetwork(), Memory("server", layers: .init(hasTLS: !isWebSocket, isWebSocket: isWebSocket))
    )
    let driver = Self.connected(network, memory)
    let socket = network.opened.last!
    if isWebSocket {
      socket.received += Array((Self.upgrade + Self.accept + "\r\n").utf8) + Self.frame("OK\n")
      for line in Self.lines { socket.received += Self.frame(line + "\n") }
      socket.received += [0x88, 2, 3, 232]
    } else {
      socket.received += Array("<<".utf8) + MaskingEngine.record("OK\n")
      for line in Self.lines { socket.received += MaskingEngine.record(line + "\n") }
      socket.received += [0]
    }
    socket.isClosed = true
    let (begun, waits) = (network.now, network.waits)
    var got: [String] = []
    while got.count <= Self.lines.count, network.waits < waits + 50 {
      #expect(driver.wait(timeout: 10) == .event)
      // None has another before it is taken.
      if case .engine(let line) = driver.nextEvent() { got.append(line) } else { break }
    }
    #expect(got == ["OK"] + Self.lines)
    #expect(driver.wait(timeout: 10) == .event)
    #expect(Self.end(of: driver)?.stage == .connected)
    #expect(network.now == begun)
    #expect(network.waits <= waits + 40)
    // The next attempt has its time, and nothing that is left calls for an earlier one.
    #expect(driver.nextTimeout(at: driver.time) == 500)
  }

  /// The client leaves while much of what the server said is inside TLS: nobody reads it any more.
  @Test func leavingWithMuchInside() {
    let network = TestNetwork()
    let driver = Self.connectedThroughTLS(network)
    network.opened.last!.received += MaskingEngine.record("OK\n")
    for line in Self.lines { network.opened.last!.received += MaskingEngine.record(line + "\n") }
    #expect(driver.wait(timeout: 10) == .event)
    guard case .engine("OK") = driver.nextEvent() else {
      Issue.record("no answer")
      return
    }
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: driver.time)
    _ = driver.lines()
    #expect(network.opened.last!.isShutDown)
    let left = driver.nextTimeout(at: driver.time)
    #expect(left > 0)
    guard left > 0 else { return }
    let (begun, waits) = (network.now, network.waits)
    #expect(driver.wait(timeout: 100) == .nothing)
    #expect(network.now == begun + 100)
    #expect(network.waits == waits + 1)
    network.opened.last!.isClosed = true
    #expect(driver.wait(timeout: 10) == .event)
    guard case .disconnected(let failure) = driver.nextEvent(), case .requested = failure.cause else {
      Issue.record("no end")
      return
    }
  }
}
