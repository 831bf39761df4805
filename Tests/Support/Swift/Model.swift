public import MQTTWire

/// Control Packets as the specification describes them, in both directions and every version: what the tests
/// hold the library against. Written from the specification; of the library it uses the names of packets,
/// versions and sides.
public enum Model {
  public enum Packet: Equatable, Sendable {
    case connect(Connect)
    /// The code is a Connect Return code before 5.0.
    case connack(sessionPresent: Bool, code: UInt8, properties: [Property])
    case publish(Publish)
    /// PUBACK, PUBREC, PUBREL and PUBCOMP.
    case acknowledgement(ControlPacketType, identifier: UInt16, code: UInt8, properties: [Property])
    case subscribe(identifier: UInt16, properties: [Property], subscriptions: [Subscription])
    case unsubscribe(identifier: UInt16, properties: [Property], filters: [[UInt8]])
    /// SUBACK and UNSUBACK.
    case answer(ControlPacketType, identifier: UInt16, properties: [Property], codes: [UInt8])
    /// PINGREQ and PINGRESP.
    case ping(ControlPacketType)
    case disconnect(code: UInt8, properties: [Property])
    case auth(code: UInt8, properties: [Property])
  }

  public struct Connect: Equatable, Sendable {
    public var cleanStart: Bool
    public var keepAlive: UInt16
    public var properties: [Property]
    public var clientIdentifier: [UInt8]
    public var will: Will?
    public var userName: [UInt8]?
    public var password: [UInt8]?

    public init(
      cleanStart: Bool, keepAlive: UInt16, properties: [Property], clientIdentifier: [UInt8], will: Will?,
      userName: [UInt8]?, password: [UInt8]?
    ) {
      self.cleanStart = cleanStart
      self.keepAlive = keepAlive
      self.properties = properties
      self.clientIdentifier = clientIdentifier
      self.will = will
      self.userName = userName
      self.password = password
    }
  }

  public struct Will: Equatable, Sendable {
    public var qos: UInt8
    public var retain: Bool
    public var properties: [Property]
    public var topic: [UInt8]
    public var payload: [UInt8]

    public init(
      qos: UInt8, retain: Bool, properties: [Property], topic: [UInt8], payload: [UInt8]
    ) {
      self.qos = qos
      self.retain = retain
      self.properties = properties
      self.topic = topic
      self.payload = payload
    }
  }

  public struct Publish: Equatable, Sendable {
    public var duplicate: Bool
    public var qos: UInt8
    public var retain: Bool
    public var topic: [UInt8]
    /// `nil` with QoS 0.
    public var identifier: UInt16?
    public var properties: [Property]
    public var payload: [UInt8]

    public init(
      duplicate: Bool, qos: UInt8, retain: Bool, topic: [UInt8], identifier: UInt16?, properties: [Property],
      payload: [UInt8]
    ) {
      self.duplicate = duplicate
      self.qos = qos
      self.retain = retain
      self.topic = topic
      self.identifier = identifier
      self.properties = properties
      self.payload = payload
    }
  }

  public struct Subscription: Equatable, Sendable {
    public var filter: [UInt8]
    public var qos: UInt8
    public var noLocal = false
    public var retainAsPublished = false
    public var retainHandling: UInt8 = 0

    public init(
      filter: [UInt8], qos: UInt8, noLocal: Bool = false, retainAsPublished: Bool = false,
      retainHandling: UInt8 = 0
    ) {
      self.filter = filter
      self.qos = qos
      self.noLocal = noLocal
      self.retainAsPublished = retainAsPublished
      self.retainHandling = retainHandling
    }
  }

  public struct Property: Equatable, Sendable {
    public enum Value: Equatable, Sendable {
      case number(UInt32)
      /// A UTF-8 Encoded String, or Binary Data.
      case bytes([UInt8])
      case pair([UInt8], [UInt8])
    }

    public var identifier: UInt8
    public var value: Value

    public init(
      identifier: UInt8, value: Value
    ) {
      self.identifier = identifier
      self.value = value
    }
  }
}

extension Model.Packet {
  public var type: ControlPacketType {
    switch self {
    case .connect: .connect
    case .connack: .connack
    case .publish: .publish
    case .acknowledgement(let type, _, _, _), .answer(let type, _, _, _), .ping(let type): type
    case .subscribe: .subscribe
    case .unsubscribe: .unsubscribe
    case .disconnect: .disconnect
    case .auth: .auth
    }
  }

  /// Those of the Will are not among them.
  public var properties: [Model.Property] {
    switch self {
    case .connect(let connect): connect.properties
    case .publish(let publish): publish.properties
    case .connack(_, _, let properties), .acknowledgement(_, _, _, let properties),
      .subscribe(_, let properties, _), .unsubscribe(_, let properties, _), .answer(_, _, let properties, _),
      .disconnect(_, let properties), .auth(_, let properties):
      properties
    case .ping: []
    }
  }
}
