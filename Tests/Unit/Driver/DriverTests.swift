import Driver
import Glibc
import Platform
import Storage
import Testing
import Transports

/// The driver with another protocol, over other transports, on other systems.
@Suite struct DriverTests {
  private static func at(_ network: TestNetwork) -> Instant { Instant(milliseconds: network.now) }

  // MARK: Another protocol

  @Test func linesOverTCP() {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    #expect(driver.connect(at: driver.time))
    #expect(driver.wait(timeout: 10) == .nothing)
    #expect(network.opened.last?.target == "1234")
    #expect(network.heard == "HELLO\n")
    #expect(driver.state == .connecting)
    network.say("OK\nfirst\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.state == .connected)
    #expect(driver.lines() == ["OK", "first"])

    // The connection breaks, and is made again after the shortest wait.
    network.opened.last?.isClosed = true
    #expect(driver.wait(timeout: 10) == .event)
    guard case .disconnected(let failure) = driver.nextEvent(), case .closed = failure.cause else {
      Issue.record("no end")
      return
    }
    #expect(failure.stage == .connected)
    #expect(failure.retry == 500)
    #expect(driver.state == .waiting)
    #expect(driver.nextTimeout(at: driver.time) == 500)
    #expect(driver.wait(timeout: 600) == .nothing)
    #expect(network.opened.count == 2)
    #expect(network.heard == "HELLO\n")
    network.say("OK\n")
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK"])

    // The program leaves.
    #expect(driver.beginDisconnect(drain: 100, at: driver.time))
    _ = driver.service(at: driver.time)
    #expect(network.heard == "HELLO\nBYE\n")
    #expect(network.opened.last?.isShutDown == true)
    network.opened.last?.isClosed = true
    #expect(driver.wait(timeout: 10) == .event)
    guard case .disconnected(let end) = driver.nextEvent(), case .requested = end.cause else {
      Issue.record("no end")
      return
    }
    #expect(end.retry == nil)
    #expect(driver.state == .disconnected)
  }

  /// What the protocol says of an end goes with it as it is.
  @Test func theServerEndsIt() {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    network.now &+= 1
    _ = driver.wait(timeout: 10)
    network.say("BYE\n")
    _ = driver.wait(timeout: 10)
    #expect(driver.lines() == ["BYE"])
    guard case .disconnected(let failure) = driver.nextEvent(), case .serverClosed = failure.cause else {
      Issue.record("no end")
      return
    }
    #expect(failure.details?.word == 7)
    #expect(failure.stage == .accept)
  }

  // MARK: Another transport

  private static func listener(_ path: String) throws -> Int32 {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let isListening = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(listener, 1) == 0
      }
    }
    try #require(isListening)
    return listener
  }

  @Test func aSocketInTheFileSystem() throws {
    let path = "/tmp/driver-tests-\(getpid())"
    let listener = try Self.listener(path)
    defer {
      close(listener)
      unlink(path)
    }
    let memory = Memory(path)
    let driver = memory.driver(memory.unix(), try Linux(SocketOptions.Stored()))
    #expect(driver.connect(at: driver.time))
    let server = accept(listener, nil, nil)
    defer { close(server) }
    #expect(driver.wait(timeout: 100) == .nothing)
    var heard = [UInt8](repeating: 0, count: 6)
    #expect(recv(server, &heard, 6, 0) == 6)
    #expect(heard == Array("HELLO\n".utf8))
    #expect(send(server, "OK\n", 3, 0) == 3)
    #expect(driver.wait(timeout: 1000) == .event)
    #expect(driver.lines() == ["OK"])
  }

  /// What the server still sends is discarded, however much it is, until the server closes.
  @Test func aSocketInTheFileSystemIsEmptiedAtTheEnd() throws {
    let path = "/tmp/driver-tests-end-\(getpid())"
    let listener = try Self.listener(path)
    defer {
      close(listener)
      unlink(path)
    }
    let memory = Memory(path)
    let driver = memory.driver(memory.unix(), try Linux(SocketOptions.Stored()))
    #expect(driver.connect(at: driver.time))
    let server = accept(listener, nil, nil)
    #expect(driver.wait(timeout: 100) == .nothing)
    var heard = [UInt8](repeating: 0, count: 10)
    #expect(recv(server, &heard, 6, 0) == 6)
    let much = [UInt8](repeating: 0, count: 5000)
    #expect(send(server, much, much.count, 0) == much.count)

    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    for _ in 0..<10 { #expect(!driver.service(at: driver.time)) }
    #expect(driver.state == .disconnecting)
    // Everything was taken, and what the client said last arrives.
    var waiting: Int32 = -1
    #expect(ioctl(server, UInt(TIOCOUTQ), &waiting) == 0)
    #expect(waiting == 0)
    #expect(recv(server, &heard, 10, 0) == 4)
    close(server)
    #expect(driver.wait(timeout: 10_000) == .event)
    guard case .disconnected(let failure) = driver.nextEvent(), case .requested = failure.cause else {
      Issue.record("no end")
      return
    }
  }

  @Test func nobodyListensInTheFileSystem() throws {
    let memory = Memory("/tmp/driver-tests-nobody-\(getpid())")
    let driver = memory.driver(memory.unix(), try Linux(SocketOptions.Stored()))
    _ = driver.connect(at: driver.time)
    guard case .disconnected(let failure) = driver.nextEvent(), case .network(let error) = failure.cause
    else {
      Issue.record("no end")
      return
    }
    #expect(error == ENOENT)
    #expect(failure.stage == .connect)
  }

  // MARK: A layer

  /// Twenty records come in one piece, and the system never tells of the nineteen that lie in the layer.
  @Test(arguments: [false, true])
  func recordsBehindASilentDescriptor(waits: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(RecordLayer(memory.tcp()), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    // Its handshake comes first.
    #expect(network.heard == ">")
    #expect(driver.isOpen == false)
    network.say("<<")
    _ = driver.wait(timeout: 10)
    #expect(network.heard == ">HELLO\n")

    let records = (0..<20).map { "record \($0)" }
    network.say(records.map { $0 + "\n" }.joined())
    let tells = network.tells
    let begun = network.now
    var lines: [String] = []
    for _ in 0..<20 {
      if waits {
        #expect(driver.wait(timeout: 1000) == .event)
      } else {
        if !lines.isEmpty { #expect(driver.nextTimeout(at: Self.at(network)) == 0) }
        #expect(driver.service(at: Self.at(network)))
      }
      lines += driver.lines()
    }
    #expect(lines == records)
    #expect(network.tells == tells + 1)
    #expect(network.now == begun)
    // Nothing is left: it waits again, as soon as the system is to tell again.
    #expect(!driver.service(at: Self.at(network)))
    #expect(driver.nextTimeout(at: Self.at(network)) != 0)
    #expect(driver.wait(timeout: 100) == .nothing)
    #expect(network.now == begun + 100)
  }

  /// All that the server says in the handshake comes in one piece, and the system tells of it once.
  @Test(arguments: [false, true])
  func aHandshakeBehindASilentDescriptor(waits: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(RecordLayer(memory.tcp()), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    network.say("<<OK\n")
    let (tells, begun) = (network.tells, network.now)
    if waits {
      #expect(driver.wait(timeout: 1000) == .event)
    } else {
      #expect(!driver.service(at: Self.at(network)))
      #expect(driver.nextTimeout(at: Self.at(network)) == 0)
      #expect(!driver.service(at: Self.at(network)))
      #expect(driver.nextTimeout(at: Self.at(network)) == 0)
      #expect(driver.service(at: Self.at(network)))
    }
    #expect(driver.lines() == ["OK"])
    #expect(network.tells == tells + 1)
    #expect(network.now == begun)
  }

  /// What the server says at the end, and that this was all, is in one piece, too.
  @Test(arguments: [false, true])
  func anEndBehindASilentDescriptor(waits: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(RecordLayer(memory.tcp()), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    network.say("<<")
    _ = driver.wait(timeout: 10)
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: driver.time)
    #expect(driver.state == .disconnecting)
    network.say("one\ntwo\nEND\n")
    let (tells, begun) = (network.tells, network.now)
    if waits {
      #expect(driver.wait(timeout: 1000) == .event)
    } else {
      for _ in 0..<2 {
        #expect(!driver.service(at: Self.at(network)))
        #expect(driver.nextTimeout(at: Self.at(network)) == 0)
      }
      #expect(driver.service(at: Self.at(network)))
    }
    guard case .disconnected(let failure) = driver.nextEvent(), case .requested = failure.cause else {
      Issue.record("no end")
      return
    }
    #expect(network.tells == tells + 1)
    #expect(network.now == begun)
  }

  /// What lies in the layer when the connection breaks is handed out first.
  @Test func recordsBehindABrokenConnection() {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(RecordLayer(memory.tcp()), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    network.say("<<OK\none\ntwo\n")
    #expect(driver.wait(timeout: 1000) == .event)
    #expect(driver.lines() == ["OK"])
    let begun = network.now
    network.sendError = 32
    _ = driver.beginDisconnect(drain: 0, at: driver.time)
    var lines: [String] = []
    while driver.wait(timeout: 1000) == .event, driver.hasLine { lines += driver.lines() }
    #expect(lines == ["one", "two"])
    #expect(network.now == begun)
    guard case .disconnected(let failure) = driver.nextEvent(), case .network(let error) = failure.cause
    else {
      Issue.record("no end")
      return
    }
    #expect(error == 32)
  }

  /// A failure within the layer is one of the connection.
  @Test func theLayerRefuses() {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(RecordLayer(memory.tcp()), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    network.say("?")
    _ = driver.wait(timeout: 10)
    guard case .disconnected(let failure) = driver.nextEvent(), case .network(let error) = failure.cause
    else {
      Issue.record("no end")
      return
    }
    #expect(error == SystemError.connectionReset)
    #expect(failure.retry == 500)
  }

  // MARK: Full receives

  /// A full receive is followed by the next one. The system is neither asked in between, nor told what to watch.
  @Test(arguments: [false, true])
  func aFullReceiveTakesOneCall(waits: Bool) {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    // Ten times the room of the engine.
    network.say(String(repeating: "seven..\n", count: 80))
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines().count == 8)
    let (asked, watches) = (network.waits, network.watches)
    for _ in 0..<9 {
      if waits {
        #expect(driver.wait(timeout: 10) == .event)
      } else {
        #expect(driver.service(at: Self.at(network)))
      }
      #expect(driver.lines().count == 8)
    }
    #expect(network.waits == asked)
    #expect(network.watches == watches)
    // Time has passed, so the system is asked once more.
    network.now += 1
    network.say(String(repeating: "seven..\n", count: 80))
    #expect(driver.wait(timeout: 10) == .event)
    #expect(network.waits == asked + 1)
    #expect(network.watches == watches)
  }

  /// A program that does not take its events is told of further bytes twice, and then no more until there is space.
  @Test func aSlowProgramIsToldTwice() {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    network.say("one\n")
    #expect(driver.wait(timeout: 10) == .event)
    network.say("two\n")
    for told in 1...4 {
      #expect(driver.service(at: Self.at(network)))
      #expect((network.readiness != 0) == (told < 2))
      network.now += 1
    }
    #expect(driver.lines() == ["one"])
    #expect(driver.nextTimeout(at: Self.at(network)) == 0)
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["two"])
    network.say("three\n")
    #expect(network.readiness != 0)
  }

  // MARK: Looking before sleeping

  /// As long as there is a connection, and only if it waits at all.
  @Test func looksBeforeItSleeps() {
    let (network, memory) = (TestNetwork(), Memory("server", busyPoll: 2500))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    #expect(driver.wait(timeout: 10) == .nothing)
    #expect(network.busy == [0, 2500])
    network.busy = []
    #expect(driver.wait(timeout: 0) == .nothing)
    #expect(!driver.service(at: Self.at(network)))
    network.say("one\n")
    #expect(driver.wait(timeout: 10) == .event)
    // An event waits, so this one asks and does not wait.
    network.now += 1
    #expect(driver.wait(timeout: 10) == .event)
    #expect(network.busy == [0, 0, 2500, 0])
    network.busy = []
    network.sockets[0]?.isClosed = true
    _ = driver.lines()
    #expect(driver.wait(timeout: 10) == .event)
    _ = driver.nextEvent()
    #expect(driver.wait(timeout: 10) == .nothing)
    #expect(network.busy == [2500, 0])
  }

  /// On a system: with or without a look before, it is back when the time is up, to a millisecond.
  @Test(arguments: [(0, 20), (900, 20), (19_500, 20), (1_000_000, 20)])
  func noDeadlineIsLate(microseconds: UInt32, timeout: Int32) throws {
    let system = try Linux(SocketOptions.Stored())
    var times: [UInt32] = []
    for _ in 0..<20 {
      let begun = system.now()
      guard case .ready(Readiness()) = system.wait(timeout: timeout, busy: microseconds) else {
        Issue.record("something is ready")
        return
      }
      times.append(system.now() - begun)
    }
    #expect(times.allSatisfy { $0 >= 20 })
    // Another program may have had the processor in most of them.
    #expect(times.contains { $0 <= 21 })
  }

  // MARK: The end

  /// Sending ends with the final packet, even if the protocol wants to send more.
  @Test func nothingIsSentBehindTheEnd() {
    let (network, memory) = (TestNetwork(), Memory("server", writeTimeout: 1000))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    driver.hasPostscript = true
    network.room = 4
    let begun = network.now
    #expect(driver.beginDisconnect(drain: 0, at: driver.time))
    _ = driver.service(at: Self.at(network))
    #expect(network.heard == "HELLO\nBYE\n")
    #expect(network.opened.last?.isShutDown == true)
    let sends = network.sends
    // The system has taken nothing for longer than it may.
    network.now = begun + 1500
    #expect(!driver.service(at: Self.at(network)))
    network.room = nil
    #expect(!driver.service(at: Self.at(network)))
    #expect(network.sends == sends)
    #expect(driver.wait(timeout: 1000) == .event)
    #expect(network.now == begun + 2000)
    guard case .disconnected(let failure) = driver.nextEvent(), case .requested = failure.cause else {
      Issue.record("no end")
      return
    }
  }

  /// The final packet finds the connection broken while the application has an event to take. Nothing more is asked of
  /// its socket, and why it broke is what is told.
  @Test func aBrokenConnectionIsNotWatched() {
    let (network, memory) = (TestNetwork(), Memory("server"))
    let driver = memory.driver(memory.tcp(), TestSystem(network: network))
    _ = driver.connect(at: driver.time)
    _ = driver.wait(timeout: 10)
    driver.readsAhead = true
    network.say("OK\n")
    network.sendError = 32
    _ = driver.beginDisconnect(drain: 0, at: driver.time)
    #expect(driver.wait(timeout: 10) == .event)
    #expect(driver.lines() == ["OK"])
    #expect(driver.wait(timeout: 10) == .event)
    guard case .disconnected(let failure) = driver.nextEvent(), case .network(let error) = failure.cause
    else {
      Issue.record("no end")
      return
    }
    #expect(error == 32)
  }

  // MARK: No system

  @Test func withoutSockets() {
    let memory = Memory("server")
    let driver = memory.driver(CallerDriven(), NoSystem())
    var now = Instant(milliseconds: 5)
    #expect(driver.connect(at: now))
    guard case .transportWanted(_, let port) = driver.nextEvent() else {
      Issue.record("no question")
      return
    }
    #expect(port == 1234)
    #expect(driver.nextTimeout(at: now) == 3000)
    #expect(driver.opened(at: now))
    #expect(driver.prepareTransmit(at: now))
    #expect(driver.outputSize == 6)
    #expect(driver.transmitted(6, at: now))
    #expect(driver.received("OK\n", at: now))
    #expect(driver.lines() == ["OK"])
    #expect(driver.state == .connected)
    now = now.advanced(by: 10)
    #expect(driver.closed(error: 0, at: now))
    guard case .disconnected(let failure) = driver.nextEvent(), case .closed = failure.cause else {
      Issue.record("no end")
      return
    }
    #expect(driver.nextTimeout(at: now) == 500)
    #expect(driver.wait(timeout: 10) == .wouldWaitForever)
  }
}
