/// What a frame is (RFC 6455 section 11.8).
public enum WebSocketOpcode: UInt8, BitwiseCopyable {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  var isControl: Bool { rawValue & 8 != 0 }
}

/// Status codes of a Close frame (RFC 6455 section 7.4).
public enum WebSocketStatus {
  public static var normal: UInt16 { 1000 }
  public static var protocolError: UInt16 { 1002 }
  public static var unsupportedData: UInt16 { 1003 }
  /// Is never sent: a Close frame came without a code.
  public static var noCode: UInt16 { 1005 }
  public static var invalidPayload: UInt16 { 1007 }

  /// Returns whether a Close frame may have this code: one that is registered, or for libraries and programs.
  static func mayBeSent(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }
}
