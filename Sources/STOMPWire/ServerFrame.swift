public import Storage

/// What a server sends.
public enum ServerCommand: UInt8, BitwiseCopyable {
  case connected, message, receipt, error
}

/// The command and the headers of a frame of the server, as byte ranges that count from the first byte of its
/// command. Values are as they came: with their escapes. Of repeated headers, the first one counts.
public struct ServerFrame: BitwiseCopyable {
  public internal(set) var command = ServerCommand.error
  /// All header lines, without the blank one.
  public internal(set) var headers = ByteRange.empty
  /// Where the body begins.
  public internal(set) var bodyOffset = 0
  /// `nil`: the body ends with the first zero.
  public internal(set) var contentLength: Int? = nil
  /// There are escapes in the headers.
  public internal(set) var hasEscapes = false

  // The headers that the protocol knows; absent ones are empty, as are those without a value.
  public internal(set) var destination = ByteRange.empty
  public internal(set) var messageID = ByteRange.empty
  public internal(set) var subscription = ByteRange.empty
  public internal(set) var ack = ByteRange.empty
  public internal(set) var contentType = ByteRange.empty
  public internal(set) var receiptID = ByteRange.empty
  public internal(set) var message = ByteRange.empty
  public internal(set) var version = ByteRange.empty
  public internal(set) var heartBeat = ByteRange.empty
  public internal(set) var session = ByteRange.empty
  public internal(set) var server = ByteRange.empty
  /// Those that were there.
  var known = KnownHeaders()

  init() {}
}

/// A set of them. No OptionSet: that can be made of an array, which would have to be allocated.
struct KnownHeaders: BitwiseCopyable, Equatable {
  private(set) var rawValue: UInt16 = 0

  func contains(_ other: Self) -> Bool { rawValue & other.rawValue == other.rawValue }
  mutating func insert(_ other: Self) { rawValue |= other.rawValue }

  static var destination: Self { Self(rawValue: 1) }
  static var messageID: Self { Self(rawValue: 2) }
  static var subscription: Self { Self(rawValue: 4) }
  static var ack: Self { Self(rawValue: 8) }
  static var contentType: Self { Self(rawValue: 16) }
  static var receiptID: Self { Self(rawValue: 32) }
  static var message: Self { Self(rawValue: 64) }
  static var version: Self { Self(rawValue: 128) }
  static var heartBeat: Self { Self(rawValue: 256) }
  static var session: Self { Self(rawValue: 512) }
  static var server: Self { Self(rawValue: 1024) }
  static var contentLength: Self { Self(rawValue: 2048) }
}

extension KnownHeaders {
  /// What a frame of this command has to have. Of 1.0, only what every server sends.
  @inline(__always)
  static func needed(by command: ServerCommand, _ version: STOMPVersion) -> Self {
    switch command {
    case .connected, .error: return Self()
    case .receipt: return .receiptID
    case .message:
      var needed = destination
      needed.insert(.messageID)
      if version != .v10 { needed.insert(.subscription) }
      return needed
    }
  }
}
