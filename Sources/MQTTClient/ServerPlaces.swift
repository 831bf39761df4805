public import MQTTWire

/// Where the hosts of one or several servers are in a text, and their ports.
public struct ServerPlaces: BitwiseCopyable {
  public static var maximum: Int { 16 }

  public private(set) var count = 0
  // One more than there may be: the server that another one pointed to.
  private var hosts = InlineArray<17, Extent>(repeating: .empty)
  /// 0: absent.
  private var ports = InlineArray<17, UInt16>(repeating: 0)

  public init() {}

  public mutating func append(host: Extent, port: UInt16) {
    set(count, host: host, port: port)
    count &+= 1
  }

  /// Behind the last: no part of the list.
  mutating func set(_ index: Int, host: Extent, port: UInt16) {
    hosts[index] = host
    ports[index] = port
  }

  public func host(_ index: Int) -> Extent { hosts[index] }

  public func port(_ index: Int) -> UInt16 { ports[index] }

  /// All the hosts, each with a zero behind it.
  var byteCount: Int {
    var sum = 0
    for index in 0..<count { sum &+= hosts[index].count &+ 1 }
    return sum
  }
}
