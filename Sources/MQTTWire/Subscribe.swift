public import Storage

/// The Topic Filters of SUBSCRIBE and UNSUBSCRIBE, and for SUBSCRIBE their options. The owner of the list
/// stores it in its own form.
public protocol SubscriptionList: ~Copyable, ~Escapable {
  var count: Int { get }
  @_lifetime(borrow self)
  borrowing func filter(at index: Int) -> Span<UInt8>
  borrowing func options(at index: Int) -> SubscriptionOptions
}

/// The Subscription Options of one Topic Filter (§3.8.3.1). All but the QoS came with 5.0.
public struct SubscriptionOptions: BitwiseCopyable, Equatable {
  public enum RetainHandling: UInt8, BitwiseCopyable {
    case send = 0
    case sendIfNew = 1
    case doNotSend = 2
  }

  public let maximumQoS: QoS
  public let noLocal: Bool
  public let retainAsPublished: Bool
  public let retainHandling: RetainHandling

  public init(
    maximumQoS: QoS, noLocal: Bool = false, retainAsPublished: Bool = false,
    retainHandling: RetainHandling = .send
  ) {
    self.maximumQoS = maximumQoS
    self.noLocal = noLocal
    self.retainAsPublished = retainAsPublished
    self.retainHandling = retainHandling
  }

  /// The byte of the wire; its upper bits are reserved [MQTT-3.8.3-5].
  public var rawValue: UInt8 {
    maximumQoS.rawValue | (noLocal ? 0x04 : 0) | (retainAsPublished ? 0x08 : 0)
      | retainHandling.rawValue << 4
  }
}

/// SUBSCRIBE (§3.8) and UNSUBSCRIBE (§3.10), which differ only in the options.
public struct SubscribePacket<List: SubscriptionList & ~Copyable & ~Escapable>: ~Copyable, ~Escapable {
  /// `.subscribe` or `.unsubscribe`.
  public let type: ControlPacketType
  public let list: List
  /// 5.0: encoded properties, without their length.
  private let properties: Span<UInt8>
  /// 5.0: the Subscription Identifier, in front of the other properties; 0: none.
  private let subscriptionIdentifier: UInt32

  @_lifetime(copy list, copy properties)
  public init(
    type: ControlPacketType, list: consuming List, properties: Span<UInt8>,
    subscriptionIdentifier: UInt32 = 0
  ) {
    self.type = type
    self.list = list
    self.properties = properties
    self.subscriptionIdentifier = subscriptionIdentifier
  }

  private var propertyLength: Int {
    properties.count
      + (subscriptionIdentifier == 0
        ? 0 : 1 + VariableByteInteger.encodedSize(Int(truncatingIfNeeded: subscriptionIdentifier)))
  }

  /// Above `VariableByteInteger.maximum` it can't be sent.
  public borrowing func remainingLength(_ version: ProtocolVersion) -> Int {
    var length = 2
    if version.hasProperties {
      length += VariableByteInteger.encodedSize(propertyLength) + propertyLength
    }
    for index in 0..<list.count {
      length += 2 + list.filter(at: index).count + (type == .subscribe ? 1 : 0)
    }
    return length
  }

  public borrowing func encode(
    into writer: inout ByteWriter, identifier: PacketIdentifier, version: ProtocolVersion
  ) {
    writer.put(type.firstByte)
    writer.put(variableByteInteger: remainingLength(version))
    writer.put(identifier.rawValue)
    if version.hasProperties {
      writer.put(variableByteInteger: propertyLength)
      if subscriptionIdentifier != 0 {
        writer.put(PropertyIdentifier.subscriptionIdentifier.rawValue)
        writer.put(variableByteInteger: Int(truncatingIfNeeded: subscriptionIdentifier))
      }
      writer.put(properties)
    }
    for index in 0..<list.count {
      writer.put(prefixed: list.filter(at: index))
      if type == .subscribe {
        let options = list.options(at: index)
        // Before 5.0 the other bits are reserved (3.1.1: [MQTT-3.8.3-4]).
        writer.put(version.hasProperties ? options.rawValue : options.maximumQoS.rawValue)
      }
    }
  }
}

/// SUBACK (§3.9) and UNSUBACK (§3.11): one Reason Code for each Topic Filter, in their order. The
/// UNSUBACK of 3.1.1 has none.
public struct Suback: BitwiseCopyable {
  public let type: ControlPacketType
  public let identifier: PacketIdentifier
  /// One byte each.
  public let reasonCodes: ByteRange
  public let reasonString: ByteRange
  /// 5.0: all properties, without their length; checked.
  public let properties: ByteRange

  /// Reads what follows the Fixed Header; extents are offsets in `body`.
  public init(
    parsing body: Span<UInt8>, type: ControlPacketType, version: ProtocolVersion
  ) throws(Malformed) {
    self.type = type
    var reader = ByteReader(body)
    guard let identifier = PacketIdentifier(try reader.uint16()) else { throw .packetIdentifier }
    self.identifier = identifier
    var reason = ByteRange.empty
    var all = ByteRange.empty
    if version.hasProperties {
      var list = try PropertyReader(body, reader: &reader, in: .packet(type, from: .server))
      all = list.extent
      while let property = try list.next() {
        if property.identifier == .reasonString { reason = property.text }
      }
    }
    reasonString = reason
    properties = all
    reasonCodes = reader.rest()
    let isEmptyByRule = type == .unsuback && !version.hasProperties
    guard reasonCodes.isEmpty == isEmptyByRule else {
      throw isEmptyByRule ? .trailingBytes : .truncated
    }
    for index in reasonCodes.range {
      guard Self.allows(body[index], in: type, version) else { throw .reasonCode }
    }
  }

  /// Returns whether Tables 3-8 and 3-9 allow a Reason Code; 3.1.1 has 0 to 2 and 0x80 [MQTT-3.9.3-2].
  private static func allows(
    _ code: UInt8, in type: ControlPacketType, _ version: ProtocolVersion
  ) -> Bool {
    switch (type, version.hasProperties) {
    case (.suback, false): code <= 2 || code == 0x80
    case (.suback, true):
      switch code {
      case 0x00...0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2: true
      default: false
      }
    default:
      switch code {
      case 0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91: true
      default: false
      }
    }
  }
}
