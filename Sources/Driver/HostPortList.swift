public import Storage

/// Where the hosts of one or several servers are in a text, and their ports.
public struct HostPortList: BitwiseCopyable {
  public static var maximum: Int { 16 }

  public private(set) var count = 0
  private var hosts = InlineArray<16, ByteRange>(repeating: .empty)
  /// 0: absent.
  private var ports = InlineArray<16, UInt16>(repeating: 0)

  public init() {}

  public mutating func append(host: ByteRange, port: UInt16) {
    hosts[count] = host
    ports[count] = port
    count &+= 1
  }

  public func host(_ index: Int) -> ByteRange { hosts[index] }

  public func port(_ index: Int) -> UInt16 { ports[index] }
}
