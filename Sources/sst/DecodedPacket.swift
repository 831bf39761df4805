/// What a frame says, as far as it is here. It is for people: what breaks the rules is shown, too. Escapes stay as they are,
/// and a passcode is left out, whatever is there of it.
struct DecodedPacket {
  /// Which of `names`.
  let type: UInt8
  /// Of the whole frame.
  let length: Int
  private(set) var headers: [STOMP.Header] = []
  private(set) var payload: [UInt8] = []
  /// How many bytes of it are not here.
  private(set) var missing = 0
  /// It is no frame.
  private(set) var isDamaged = false
  /// All headers are here, and the blank line behind them.
  private var hasHead = false

  /// Of more headers, only the first are kept: nobody reads the others.
  private static let mostListed = 1000

  init(_ bytes: [UInt8], length: Int) {
    self.length = max(length, bytes.count)
    missing = self.length - bytes.count
    var rest = bytes[...]
    let command = Self.line(&rest)
    type = UInt8(Self.names.firstIndex { command ?? bytes == $0 } ?? 0)
    guard type > 0, command != nil else {
      isDamaged = type == 0
      return
    }
    while let line = Self.line(&rest) {
      if line.isEmpty {
        hasHead = true
        break
      }
      if headers.count < Self.mostListed { headers.append(Self.header(line)) }
    }
    // What was cut off in the passcode has its name here.
    if !hasHead, !rest.isEmpty { headers.append(Self.header(Array(rest))) }
    if hasHead { payload = Array(missing == 0 && rest.last == 0 ? rest.dropLast() : rest) }
    isDamaged = missing == 0 && (!hasHead || bytes.last != 0)
  }

  static let names: [StaticString] = [
    "no frame", "CONNECT", "STOMP", "CONNECTED", "SEND", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK", "BEGIN",
    "COMMIT", "ABORT", "DISCONNECT", "MESSAGE", "RECEIPT", "ERROR",
  ]

  var name: StaticString { Self.names[Int(type)] }
  /// Each frame can be read without others.
  var isNeeded: Bool { false }
  var beginsConnection: Bool { name.bytes == "CONNECT" }
  var topic: [UInt8] { self["destination"] ?? [] }
  var topics: [[UInt8]] { topic.isEmpty ? [] : [topic] }
  var hasPayload: Bool {
    !payload.isEmpty || ["SEND", "MESSAGE"].contains { name.bytes == $0 }
  }

  /// How many bytes the body has, whatever is here of it: the zero at the end of the frame is none of them.
  var payloadSize: Int { hasHead && missing > 0 ? payload.count + missing - 1 : payload.count }

  /// "Of repeated headers, the first one counts".
  subscript(name: StaticString) -> [UInt8]? { headers.first { $0.name == name }?.value }

  // ---- Helpers

  /// Up to a line feed, without a carriage return before it; `nil`: there is none.
  private static func line(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard let end = rest.firstIndex(of: 10) else { return nil }
    var line = rest[..<end]
    if line.last == 13 { line.removeLast() }
    rest = rest[(end + 1)...]
    return Array(line)
  }

  private static func header(_ line: [UInt8]) -> STOMP.Header {
    let colon = line.firstIndex(of: 58) ?? line.endIndex
    let name = Array(line[..<colon])
    return STOMP.Header(name: name, value: name == "passcode" ? [] : Array(line[colon...].dropFirst()))
  }
}
