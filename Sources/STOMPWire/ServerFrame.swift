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

/// A header that a frame of the server may have, as far as the protocol knows it.
enum KnownHeader: UInt8, BitwiseCopyable {
  case destination, messageID, subscription, ack, contentType, receiptID, message, version, heartBeat, session
  case server, contentLength
}

/// A set of them. No OptionSet: that can be made of an array, which would have to be allocated.
struct KnownHeaders: BitwiseCopyable, Equatable {
  private var bits: UInt16 = 0

  @inline(__always)
  func contains(_ header: KnownHeader) -> Bool { bits & Self.bit(header) != 0 }
  @inline(__always)
  func contains(_ other: Self) -> Bool { bits & other.bits == other.bits }
  @inline(__always)
  mutating func insert(_ header: KnownHeader) { bits |= Self.bit(header) }

  private static func bit(_ header: KnownHeader) -> UInt16 { 1 &<< UInt16(header.rawValue) }

  /// What a frame of this command has to have. Of 1.0, only what every server sends.
  @inline(__always)
  static func needed(by command: ServerCommand, _ version: STOMPVersion) -> Self {
    var needed = Self()
    switch command {
    case .connected, .error: break
    case .receipt: needed.insert(.receiptID)
    case .message:
      needed.insert(.destination)
      needed.insert(.messageID)
      if version != .v10 { needed.insert(.subscription) }
    }
    return needed
  }
}
