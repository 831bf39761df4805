/// Where inspect and top get packets from: inspection sockets of running clients, a capture, or what else a program has.
class Feed {
  private var decoder = PacketDecoder()

  /// What to wait for.
  var descriptors: [Int32] { [] }
  /// In milliseconds; -1: there is nothing to wait for but `descriptors`.
  var timeout: Int64 { -1 }
  /// There will be nothing more; a text says why.
  var end: Text? { nil }
  /// It ended where it should have gone on.
  var isCutShort: Bool { false }
  /// It cannot bring anything, as far as is known.
  var failure: ExitError? { nil }
  /// The first `read` has everything from before.
  var isLive: Bool { true }
  /// Of each client, what it calls itself, as far as it is known.
  var names: [[UInt8]] { [] }
  /// Of each client, what it is called in a line.
  var labels: [[UInt8]] {
    names.enumerated().map { $1.isEmpty ? Text("client \($0 + 1)").bytes : $1 }
  }
  /// "demo", "demo and 2 more".
  var title: [UInt8] { [] }
  /// "connected 5.0"
  var state: Text { "" }
  var lost: Int64 { 0 }
  /// Packets from before this time are those of a trace: they tell nothing of how much is going on now.
  var beginning: Int64 { .min }
  /// `nil`: they are not known.
  var numbers: ClientNumbers? { nil }
  /// The version of the protocol that a client has, if it says so itself; 0: it does not.
  func version(of client: Int) -> UInt32 { 0 }

  /// Reads what is there.
  func read() throws(ExitError) -> [SeenPacket] { [] }
  /// Has new numbers come.
  func ask() {}

  /// A capture, or running clients.
  static func of(_ places: [[UInt8]]) throws(ExitError) -> Feed {
    if places.count == 1, let file = try FileFeed.ifFile(places[0]) { return file }
    for path in places where try FileFeed.ifFile(path) != nil {
      throw usageError("\(path.printable) is a capture: only running clients are looked at together")
    }
    return try SocketFeed(places)
  }

  /// Waits until there is something, or for so many milliseconds; `input`: or that can be read. Returns whether it can.
  func wait(_ milliseconds: Int64, input: Int32 = -1) -> Bool {
    var list = [System.Wait(descriptor: input), System.Wait(descriptor: signals)]
    list += descriptors.map { System.Wait(descriptor: $0) }
    System.poll(&list, timeout < 0 ? milliseconds : min(timeout, milliseconds))
    return list[0].isReadable || list[0].isBroken
  }

  final func decode(_ packet: SeenPacket) -> DecodedPacket {
    decoder.decode(packet, version: version(of: packet.client))
  }
}

/// Running clients.
private final class SocketFeed: Feed {
  private let clients: [InspectedClient]
  private let since = System.wall

  init(_ paths: [[UInt8]]) throws(ExitError) { clients = try inspectedClients(paths, timeout: 5000) }

  override var descriptors: [Int32] { clients.map { $0.hasEnded ? -1 : $0.descriptor } }
  override var end: Text? { clients.allSatisfy { $0.hasEnded } ? "the client has ended" : nil }
  override var names: [[UInt8]] { clients.map { $0.name } }
  override var labels: [[UInt8]] { clients.map { $0.label } }
  override var title: [UInt8] {
    let first = clients[0].label
    return clients.count == 1 ? first : Text("\(first) and \(clients.count - 1) more").bytes
  }
  override var state: Text { "\(clients[0].numbers.state) \(clients[0].numbers.version)" }
  override var beginning: Int64 { since.seconds * 1_000_000 + Int64(since.nanoseconds) / 1000 }
  override var lost: Int64 { clients.reduce(0) { $0 + $1.lost } }
  override var numbers: ClientNumbers? { clients[0].numbers }
  override func version(of client: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: clients[client].numbers["protocol"])
  }

  override func read() throws(ExitError) -> [SeenPacket] {
    var packets: [SeenPacket] = []
    for (index, client) in clients.enumerated() {
      try client.read()
      packets += client.takePackets().map { $0.of(client: index) }
    }
    return packets
  }

  override func ask() { for client in clients { client.ask() } }
}

/// A capture in a file.
private final class FileFeed: Feed {
  private let path: [UInt8]
  private let descriptor: Int32
  private var reader = CaptureReader()
  private var allNames: [[UInt8]] = []
  /// Which of them the clients of the section are that is read.
  private var section: [Int] = []
  private var isRead = false
  private var lostPackets: Int64 = 0

  /// `nil`: there is no file of this name; a socket cannot be opened as one.
  static func ifFile(_ path: [UInt8]) throws(ExitError) -> FileFeed? {
    let descriptor = System.open(path)
    return descriptor < 0 ? nil : FileFeed(path, descriptor)
  }

  private init(_ path: [UInt8], _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { System.close(descriptor) }

  override var end: Text? {
    guard isRead else { return nil }
    return reader.isAtEnd ? "the capture ends here" : "the capture ends in the middle of a block"
  }
  override var isCutShort: Bool { isRead && !reader.isAtEnd }
  override var isLive: Bool { false }
  override var names: [[UInt8]] { allNames }
  override var title: [UInt8] { allNames.first ?? [] }
  override var lost: Int64 { lostPackets }
  override var timeout: Int64 { isRead ? -1 : 0 }

  override func read() throws(ExitError) -> [SeenPacket] {
    var packets: [SeenPacket] = []
    var data: [UInt8] = []
    guard !isRead else { return [] }
    let count = System.read(descriptor, into: &data, 1 << 20)
    if count < 0 { throw ExitError(text: "\(path.printable): \(System.errorText(Int32(-count)))") }
    isRead = count == 0
    reader.add(data)
    do {
      while let item = try reader.next() {
        switch item {
        case .section: section = []
        case .client(let name): add(name)
        case .packet(let packet): packets.append(packet.of(client: section[packet.client]))
        case .statistics(_, let lost, _): lostPackets = lost
        }
      }
    } catch {
      throw ExitError(text: "\(path.printable): \(error.text)")
    }
    return packets
  }

  /// A client of an earlier section may come again: two files of a capture may have been put together.
  private func add(_ name: [UInt8]) {
    let known = allNames.indices.first { allNames[$0] == name && !section.contains($0) }
    if known == nil { allNames.append(name) }
    section.append(known ?? allNames.count - 1)
  }
}

extension CaptureReader.Fault {
  var text: Text {
    switch self {
    case .noCapture: "it is no capture (pcapng)"
    case .byteOrder: "it is a capture of a machine with the other byte order"
    case .damaged(let offset): "the capture is damaged at byte \(offset)"
    case .otherProtocol: Text(Program.otherCapture.bytes)
    }
  }
}
