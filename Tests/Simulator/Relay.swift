import MQTTWire
import TestSupport

/// Joins two sessions: each is the other's server. Beyond CONNECT, PINGREQ and SUBSCRIBE, which it answers itself, it
/// hands every packet on as it is, so that both ends of a handshake are the library's own.
final class Relay: Server {
  private struct Side {
    var link: Link? = nil
    var stream = PacketStream(from: .client)
    var connect: Packet? = nil
    /// CONNACK said that there is no session, and the session knows it.
    var hasForgotten = false
  }

  private let world: World
  private var sides = [Side(), Side()]
  private var isJoined = false
  /// The Session State is gone: as long as not both know, both are told.
  private var isForgetting = true

  init(world: World) { self.world = world }

  func checkQuiet() throws(Failure) {
    try require(isJoined && sides.allSatisfy(\.stream.isEmpty), "the relay is not done")
  }

  func open(_ link: Link, from client: Int) throws(Failure) {
    if sides[client].link != nil { part() }
    sides[client] = Side(link: link)
  }

  func noticed(by client: Int) {
    sides[client].hasForgotten = true
    if isForgetting, sides.allSatisfy(\.hasForgotten) { isForgetting = false }
  }

  /// Ends both connections: what one has lost the other must send again.
  private func part() {
    for index in sides.indices {
      if let link = sides[index].link, link.isOpen {
        // A side that has not been answered can wait.
        guard isJoined else { continue }
        link.closeByServer()
      }
      sides[index] = Side()
    }
    isJoined = false
  }

  func act() throws(Failure) -> Bool {
    var hasActed = false
    for index in sides.indices {
      for _ in 0..<(world.isEnding ? 50 : world.random.from(1...3)) {
        guard try act(index) else { break }
        hasActed = true
      }
    }
    return try join() || hasActed
  }

  private func act(_ index: Int) throws(Failure) -> Bool {
    guard let link = sides[index].link else { return false }
    if link.up.isAtEnd {
      world.trace("relay: connection \(index) is gone")
      part()
      return true
    }
    guard link.up.arrived > 0 else { return false }
    sides[index].stream.append(link.up.read(world.portion(of: link.up.arrived)))
    while let packet = try sides[index].stream.next(world.scenario.version) {
      try handle(packet, from: index, link)
      guard sides[index].link === link else { return true }
    }
    return true
  }

  private func handle(_ packet: Packet, from index: Int, _ link: Link) throws(Failure) {
    let version = world.scenario.version
    switch packet.type {
    case .connect: sides[index].connect = packet
    case .pingreq: link.down.write([0xD0, 0])
    case .subscribe, .unsubscribe:
      let type: ControlPacketType = packet.type == .subscribe ? .suback : .unsuback
      link.down.write(Encoding.answer(type, packet.identifier, count: packet.count, version))
    case .disconnect: part()
    default:
      try require(isJoined, "\(packet.type) before CONNACK")
      world.trace("relay: \(packet.type) \(packet.identifier) from \(index)")
      sides[1 - index].link?.down.write(Array(sides[index].stream.bytes[packet.range]))
    }
  }

  /// Accepts both connections when both are there.
  private func join() throws(Failure) -> Bool {
    guard !isJoined, let first = sides[0].connect, let second = sides[1].connect else { return false }
    isJoined = true
    let traits = world.scenario.server
    if first.cleanStart || second.cleanStart
      || (!world.isEnding && world.random.percent(traits.sessionLossPercent))
    {
      isForgetting = true
    }
    world.trace("relay: joins, \(isForgetting ? "and forgets the session" : "with the session")")
    for (index, other) in [(0, second), (1, first)] {
      sides[index].hasForgotten = false
      sides[index].link?.down.write(
        connack(
          world.scenario.version, sessionPresent: !isForgetting, properties: limits(of: other)))
    }
    return true
  }

  /// What the other side takes is what its server takes.
  private func limits(of other: Packet) -> [UInt8] {
    guard world.scenario.version == .v5_0 else { return [] }
    var list: [UInt8] = [0x21] + twoBytes(other.receiveMaximum)
    if other.topicAliasMaximum > 0 { list += [0x22] + twoBytes(other.topicAliasMaximum) }
    if other.maximumPacketSize < .max { list += [0x27, 0, 0] + twoBytes(other.maximumPacketSize) }
    return list
  }
}
