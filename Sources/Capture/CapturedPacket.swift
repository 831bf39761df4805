/// The blocks of a capture that this project writes.
public enum CaptureBlock: UInt32, BitwiseCopyable {
  case sectionHeader = 0x0A0D_0D0A
  case interfaceDescription = 1
  case interfaceStatistics = 5
  case enhancedPacket = 6
}

/// The protocol that packets are of.
public enum CapturedProtocol: BitwiseCopyable {
  case mqtt
  case stomp

  /// What Wireshark calls the dissector that shows a packet. It has none of STOMP: it shows the lines of a frame as text.
  public var dissector: StaticString {
    switch self {
    case .mqtt: "mqtt"
    case .stomp: "data-text-lines"
    }
  }

  /// The port of servers.
  public var port: UInt32 {
    switch self {
    case .mqtt: 1883
    case .stomp: 61_613
    }
  }
}

/// Microseconds since 1970, in two halves: on armv7 the compiler takes a 64-bit number for an allocation, see `Counter`.
public struct CaptureTime: BitwiseCopyable {
  public let high: UInt32
  public let low: UInt32

  public init(high: UInt32, low: UInt32) {
    self.high = high
    self.low = low
  }
}

/// What a capture has of a packet beside its bytes.
public struct CapturedPacket: BitwiseCopyable {
  public struct Outbox: BitwiseCopyable {
    public let messages: UInt32
    public let inFlight: UInt32

    public init(messages: UInt32, inFlight: UInt32) {
      self.messages = messages
      self.inFlight = inFlight
    }
  }

  /// Which client it is of.
  public let interface: UInt32
  public let time: CaptureTime
  public let isSent: Bool
  /// Tells the connections of a client apart.
  public let connection: UInt32
  /// Of the whole packet, whatever is here of it.
  public let length: Int
  /// `nil`: it is not known.
  public let outbox: Outbox?

  public init(
    interface: UInt32, time: CaptureTime, isSent: Bool, connection: UInt32, length: Int, outbox: Outbox?
  ) {
    self.interface = interface
    self.time = time
    self.isSent = isSent
    self.connection = connection
    self.length = length
    self.outbox = outbox
  }
}
