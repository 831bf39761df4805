import Platform

/// Names, the addresses behind them, and what becomes of attempts to connect.
final class Network {
  enum Address {
    case opens(after: Int)
    case refuses(after: Int)
    case swallows
    case hasNoRoute
  }

  enum Name {
    case found(after: Int)
    case unknown(after: Int)
    case silent
  }

  struct Place {
    var name: Name
    var addresses: [Address]
  }

  private let world: DriverWorld
  let broker: BrokerModel
  private var places: [String: Place] = [:]
  private(set) var hosts: [String] = []
  private(set) var wires: [Wire] = []

  init(_ world: DriverWorld, _ broker: BrokerModel) {
    self.world = world
    self.broker = broker
  }

  /// In peace the first address of each name opens, or the second if all clients try more than one.
  private func draw() -> Place {
    let isBad = !world.isPeaceful && world.scenario.faultPace > 0
    var addresses = (0..<world.random.from(1...world.scenario.server.highestAddresses)).map { _ -> Address in
      guard isBad || world.random.percent(30) else {
        return .opens(after: world.random.from(world.scenario.latency))
      }
      switch world.random.below(10) {
      case 0...5: return .opens(after: world.random.from(0...600))
      case 6: return .hasNoRoute
      case 7: return .swallows
      default: return .refuses(after: world.random.from(0...300))
      }
    }
    if !isBad {
      let isFirst = world.scenario.programs.contains { $0.addresses == 1 }
      let place = isFirst ? 0 : world.random.below(min(2, addresses.count))
      addresses[place] = .opens(after: world.random.from(0...100))
    }
    var name = Name.found(after: world.random.from(0...30))
    if isBad {
      switch world.random.below(12) {
      case 0:
        name = .unknown(after: world.random.from(0...50))
        world.counts[.noName] += 1
      case 1: name = .silent
      default: break
      }
    }
    return Place(name: name, addresses: addresses)
  }

  func place(_ host: String) -> Place {
    if let place = places[host] { return place }
    let place = draw()
    places[host] = place
    if !hosts.contains(host) { hosts.append(host) }
    return place
  }

  /// Everything is elsewhere, or comes to itself.
  func redraw() { places = [:] }

  /// Each address tells its host and which of its own it is.
  func addresses(of host: String, port: UInt16) -> AddressList {
    let count = place(host).addresses.count
    let index = UInt32(hosts.firstIndex(of: host) ?? 0) * 16
    var found = AddressList()
    found.port = port
    for number in 0..<count {
      var address = IPAddress()
      address.scope = index + UInt32(number)
      found.append(address)
    }
    return found
  }

  /// An attempt begins; it may fail at once.
  func connect(to scope: UInt32, from program: Int) throws(PlatformError) -> Wire {
    let host = hosts[Int(scope / 16)]
    let addresses = place(host).addresses
    let address = Int(scope % 16) < addresses.count ? addresses[Int(scope % 16)] : .refuses(after: 1)
    let wire = Wire(world, wires.count, program: program, server: host, broker: broker)
    switch address {
    case .hasNoRoute: throw PlatformError(code: 101)
    case .swallows: break
    case .refuses(let delay): world.after(delay) { () throws(Failure) in wire.outcome = 111 }
    case .opens(let delay):
      world.at(max(world.now + UInt64(delay), world.outageEnd)) { [self] () throws(Failure) in
        guard !wire.isClosed else { return }
        guard broker.isUp else {
          if world.random.percent(80) { wire.outcome = 111 }
          return
        }
        wire.outcome = 0
        broker.accepted(wire)
      }
    }
    // For so long a kernel tries.
    world.after(world.random.from(20_000...60_000)) { () throws(Failure) in wire.giveUp() }
    wires.append(wire)
    return wire
  }

  /// One of those that are connected, at random.
  func anyWire() -> Wire? {
    let open = wires.filter { $0.outcome == 0 && !$0.isClosed && !$0.isDead }
    return open.isEmpty ? nil : world.random.pick(open)
  }
}
