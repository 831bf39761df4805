import CSwiftMQTT

/// smq replay: sends what one side of a capture has sent, and compares what the other side sends with what it sent then.
func replay(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let recording = try Recording(arguments.operands[0])
  let output = Output()
  let replayer = Replayer(arguments, output)
  if arguments.isServer {
    let (listener, port) = System.listen(UInt16(arguments.port))
    guard listener >= 0 else {
      throw ExitError(text: "port \(arguments.port): \(System.errorText(-listener))")
    }
    defer { System.close(listener) }
    output.write(Text("listening on 127.0.0.1 port \(Int(port))\n").bytes)
    for connection in recording.connections {
      output.flush()
      let peer = try accept(listener)
      defer { System.close(peer) }
      try replayer.run(connection, over: peer, as: .server)
    }
  } else {
    for connection in recording.connections {
      let peer = try connect(arguments)
      defer { System.close(peer) }
      try replayer.run(connection, over: peer, as: .client)
    }
  }
  if replayer.differences > 0 {
    output.write(Text("\(grouped(replayer.differences)) packets are not what they were\n").bytes)
  }
  try output.finish()
  return replayer.differences > 0 ? 1 : 0
}

private func accept(_ listener: Int32) throws(ExitError) -> Int32 {
  var list = [System.Wait(descriptor: listener), System.Wait(descriptor: signals)]
  System.poll(&list, -1)
  let peer = System.caughtSignal != 0 ? -4 : System.accept(listener)
  guard peer >= 0 else { throw ExitError(text: "no client has come: \(System.errorText(-peer))") }
  return peer
}

private func connect(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
  let port = arguments.port == 0 ? 1883 : UInt16(arguments.port)
  let peer = System.connect(host, port)
  guard peer >= 0 else {
    throw ExitError(text: "cannot connect to \(host.printable) port \(Int(port)): \(System.errorText(-peer))")
  }
  return peer
}

/// The connections of one client in a capture.
struct Recording {
  private(set) var connections: [[SeenPacket]] = []

  init(_ path: [UInt8]) throws(ExitError) {
    let descriptor = System.open(path)
    guard descriptor >= 0 else {
      throw ExitError(text: "\(path.printable): \(System.errorText(-descriptor))")
    }
    defer { System.close(descriptor) }
    var reader = CaptureReader()
    var count: Int64 = 1
    while count > 0 {
      var data: [UInt8] = []
      count = System.read(descriptor, into: &data, 1 << 20)
      if count < 0 { throw ExitError(text: "\(path.printable): \(System.errorText(Int32(-count)))") }
      reader.add(data)
      while let item = try Self.next(&reader, path) {
        // Of several clients, the first.
        if case .packet(let packet) = item, packet.client == 0 { try add(packet, path) }
      }
    }
    if connections.isEmpty { throw ExitError(text: "\(path.printable): it has no CONNECT") }
  }

  private static func next(_ reader: inout CaptureReader, _ path: [UInt8]) throws(ExitError) -> CaptureItem? {
    do throws(CaptureReader.Fault) {
      return try reader.next()
    } catch {
      throw ExitError(text: "\(path.printable): \(error.text)")
    }
  }

  private mutating func add(_ packet: SeenPacket, _ path: [UInt8]) throws(ExitError) {
    let isConnect = packet.isSent && packet.bytes.first.map { $0 >> 4 } == 1
    if isConnect { connections.append([]) }
    guard !connections.isEmpty else { return }
    guard packet.bytes.count == packet.length else {
      throw ExitError(text: "\(path.printable): it has only the beginning of a packet")
    }
    connections[connections.count - 1].append(packet)
  }
}

/// Plays one side of a connection.
private final class Replayer {
  enum Role { case client, server }

  private let arguments: Arguments
  private let output: Output
  /// Milliseconds.
  private let patience: Int64
  /// Packets that the other side did not send as it did then.
  private(set) var differences: Int64 = 0

  private var peer: Int32 = -1
  private var received: [UInt8] = []
  private var hasEnded = false
  private var version: UInt32 = 0
  /// Of the other side's packets, by the Packet Identifiers that they had then, those that they have now. Zero is none.
  private var identifiers = Replayer.noIdentifiers
  /// Packets of the other side that came before others which they followed then.
  private var early: [Int] = []

  private static let noIdentifiers = [UInt16](repeating: 0, count: 1 << 16)

  init(_ arguments: Arguments, _ output: Output) {
    self.arguments = arguments
    self.output = output
    patience = (arguments.timeout ?? 10) * 1000
  }

  func run(_ packets: [SeenPacket], over peer: Int32, as role: Role) throws(ExitError) {
    (self.peer, received, hasEnded, identifiers, early) = (peer, [], false, Self.noIdentifiers, [])
    var before = packets[0].microseconds
    for (index, packet) in packets.enumerated() {
      if packet.isSent == (role == .client) {
        pause((packet.microseconds - before) / 1000)
        try send(packet)
      } else if !early.contains(index) {
        expect(index, packets)
      }
      before = packet.microseconds
      if System.caughtSignal != 0 { throw ExitError(text: "interrupted") }
    }
    output.flush()
  }

  /// As long as it took then, whatever patience there is with the other side: a fault may need the silence before it.
  private func pause(_ milliseconds: Int64) {
    let scaled = arguments.speed == 0 ? 0 : milliseconds * 1000 / arguments.speed
    let end = System.milliseconds + max(0, scaled)
    while System.milliseconds < end, System.caughtSignal == 0 {
      var list = [System.Wait(descriptor: signals)]
      System.poll(&list, end - System.milliseconds)
    }
  }

  private func send(_ packet: SeenPacket) throws(ExitError) {
    var bytes = packet.bytes
    let decoded = decode(packet)
    // An acknowledgement has the Packet Identifier of what it is for.
    if [4, 5, 7, 9, 11].contains(decoded.type), let then = decoded.identifier, identifiers[Int(then)] != 0,
      let place = Self.placeOfIdentifier(in: bytes)
    {
      let now = identifiers[Int(then)]
      bytes[place] = UInt8(now >> 8)
      bytes[place + 1] = UInt8(now & 255)
    }
    tell(">", DecodedPacket(bytes, length: bytes.count, version: version))
    let error = System.write(peer, bytes)
    if error != 0 { hasEnded = true }
  }

  /// Waits for a packet. Acknowledgements may come in another order than they did then.
  private func expect(_ index: Int, _ packets: [SeenPacket]) {
    let then = decode(packets[index])
    for _ in index..<packets.count {
      guard let bytes = next() else {
        differences += 1
        tell(
          (hasEnded ? "! the connection was closed before" : "! in time there was no") as StaticString, then)
        return
      }
      let now = DecodedPacket(bytes, length: bytes.count, version: version)
      if let connect = now.connect { version = UInt32(connect.version) }
      guard !now.isSame(as: then) else { return took(now, as: then) }
      let later = packets.indices.first { other in
        other > index && packets[other].isSent == packets[index].isSent && !early.contains(other)
          && now.isSame(as: decode(packets[other]))
      }
      guard let later else {
        differences += 1
        if now.type == then.type { remember(now, as: then) }
        tell("! <", now)
        tell("  instead of", then)
        return
      }
      early.append(later)
      took(now, as: decode(packets[later]))
    }
  }

  private func took(_ now: DecodedPacket, as then: DecodedPacket) {
    remember(now, as: then)
    tell("<", now)
  }

  private func remember(_ now: DecodedPacket, as then: DecodedPacket) {
    // Those with which the other side begins something: acknowledgements have the identifiers of this side.
    let begins = [3, 8, 10].contains(now.type)
    if begins, let old = then.identifier, let new = now.identifier { identifiers[Int(old)] = new }
  }

  private func decode(_ packet: SeenPacket) -> DecodedPacket {
    let decoded = DecodedPacket(packet.bytes, length: packet.length, version: version)
    if let connect = decoded.connect { version = UInt32(connect.version) }
    return decoded
  }

  private func tell(_ mark: StaticString, _ packet: DecodedPacket) {
    output.write(Text("\(mark) \(packet.line)").bytes.escaped + [10])
  }

  /// The next packet of the other side; `nil`: it does not come.
  private func next() -> [UInt8]? {
    output.flush()
    let end = System.milliseconds + patience
    while true {
      if let size = Self.size(of: received), received.count >= size {
        let packet = Array(received[..<size])
        received.removeFirst(size)
        return packet
      }
      let left = end - System.milliseconds
      if hasEnded || left <= 0 || System.caughtSignal != 0 { return nil }
      var list = [System.Wait(descriptor: peer), System.Wait(descriptor: signals)]
      System.poll(&list, left)
      if System.receive(peer, into: &received, 65_536) == nil { hasEnded = true }
    }
  }

  /// Of the packet that begins here; `nil`: it is not known yet.
  private static func size(of bytes: [UInt8]) -> Int? {
    var cursor = ByteCursor(bytes)
    guard cursor.skip(1), let rest = cursor.variable() else { return nil }
    return cursor.position + rest
  }

  private static func placeOfIdentifier(in bytes: [UInt8]) -> Int? {
    var cursor = ByteCursor(bytes)
    guard cursor.skip(1), cursor.variable() != nil, cursor.position + 2 <= bytes.count else { return nil }
    return cursor.position
  }
}

extension DecodedPacket {
  /// They say the same, except for Packet Identifiers, DUP, and what a server assigns.
  fileprivate func isSame(as other: DecodedPacket) -> Bool {
    type == other.type && qos == other.qos && retain == other.retain && topic == other.topic
      && payload == other.payload && reasonCodes == other.reasonCodes
      && filters.map { $0.filter } == other.filters.map { $0.filter }
      && connect?.version == other.connect?.version && isDamaged == other.isDamaged
  }
}
