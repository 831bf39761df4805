// A WebSocket client that sends back what it receives, on the reader, the writer and the handshake of Transports: what
// Autobahn's fuzzing server wants of a client. MQTT is not there, so that text is let through.
//
//     WebSocketEcho PORT PATH    one connection
//
// Tests/Library/test_autobahn.py runs it, once for each case.

import Glibc
import Storage

@testable import Transports

/// Where a message ends, which the library does not need to know: MQTT has lengths of its own. The header is read a second
/// time for that, and everything else is the library's.
struct Boundaries {
  var header: [UInt8] = []
  var left = 0
  var opcode: UInt8 = 0

  /// How many bytes go to the reader next: one of a header, or what is there of a payload.
  func next(_ available: Int) -> Int { left > 0 ? min(left, available) : 1 }

  /// True: a data message is complete.
  mutating func took(_ bytes: ArraySlice<UInt8>) -> Bool {
    if left > 0 {
      left -= bytes.count
    } else {
      header += bytes
      guard let size = header.dropFirst().first.map({ Int($0 & 127) }) else { return false }
      let extra = size == 127 ? 8 : size == 126 ? 2 : 0
      guard header.count == 2 + extra else { return false }
      left = extra == 0 ? size : header.dropFirst(2).reduce(0) { $0 << 8 | Int($1) }
      if 1...2 ~= header[0] & 15 { opcode = header[0] & 15 }
    }
    guard left == 0 else { return false }
    let isEnd = header[0] & 0x80 != 0 && header[0] & 0x08 == 0
    header = []
    return isEnd
  }
}

func fail(_ what: String) -> Never {
  print(what)
  exit(1)
}

func connectTo(_ port: UInt16) -> Int32 {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = inet_addr("127.0.0.1")
  let result = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard result == 0 else { fail("cannot connect") }
  return descriptor
}

func sendAll(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) {
  var rest = bytes
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard count > 0 else { return }
    rest = rest.dropFirst(count)
  }
}

func read(_ descriptor: Int32) -> [UInt8] {
  var room = [UInt8](repeating: 0, count: 65_536)
  let count = room.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
  return Array(room.prefix(max(0, count)))
}

/// Writes a frame with a fresh key.
func frame(_ opcode: WebSocketOpcode, _ payload: Span<UInt8>) -> ArraySlice<UInt8> {
  var room = [UInt8](repeating: 0, count: payload.count + 14)
  var space = room.mutableSpan
  let size = WebSocketWriter.frame(opcode, payload, key: key(), into: &space)
  guard size > 0 else { fail("no room for a frame") }
  return room[..<size]
}

func key() -> MaskingKey {
  var keys = MaskingKeys()
  let random = (0..<64).map { _ in UInt8.random(in: 0...255) }
  keys.refill(random.span)
  guard let key = keys.next() else { fail("no key") }
  return key
}

/// Sends the request, and returns what came behind the answer.
func open(_ descriptor: Int32, _ path: [UInt8], port: UInt16) -> [UInt8] {
  var nonce = InlineArray<16, UInt8>(repeating: 0)
  for index in 0..<16 { nonce[index] = UInt8.random(in: 0...255) }
  var handshake = WebSocketHandshake(nonce: nonce)
  let host = Array("127.0.0.1".utf8)
  var room = [UInt8](repeating: 0, count: 2048)
  var space = room.mutableSpan
  let request = WebSocketRequest(
    path: path.span, host: host.span, port: port, subprotocols: Span(), headers: Span())
  guard let size = handshake.request(request, into: &space) else { fail("no request") }
  sendAll(descriptor, room[..<size])
  while true {
    let bytes = read(descriptor)
    var consumed = 0
    switch handshake.receive(bytes.span, consumed: &consumed, subprotocols: Span()) {
    case .done: return Array(bytes[consumed...])
    case .failed: fail("the handshake failed")
    case .needsBytes, .send: if bytes.isEmpty { fail("closed in the handshake") }
    }
  }
}

func echo(_ descriptor: Int32, _ first: [UInt8]) {
  var reader = WebSocketReader()
  reader.takesText = true
  var boundaries = Boundaries()
  var message: [UInt8] = []
  var bytes = first
  while true {
    var at = 0
    while at < bytes.count {
      let count = boundaries.next(bytes.count - at)
      var part = Array(bytes[at..<at + count])
      let isEnd = boundaries.took(part[...])
      var space = part.mutableSpan
      let taken = reader.received(&space)
      message += part.prefix(taken)
      at += count
      if reader.isOver {
        let code = reader.violation ?? reader.closeCode ?? 1000
        var payload: [UInt8] = [UInt8(code >> 8), UInt8(code & 255)]
        if code == 1005 { payload = [] }
        sendAll(descriptor, frame(.close, payload.span))
        return
      }
      if reader.isPongOwed {
        sendAll(descriptor, frame(.pong, reader.pongPayload))
        reader.answeredPing()
      }
      if isEnd {
        sendAll(descriptor, frame(boundaries.opcode == 1 ? .text : .binary, message.span))
        message = []
      }
    }
    bytes = read(descriptor)
    if bytes.isEmpty { return }
  }
}

guard CommandLine.arguments.count == 3, let port = UInt16(CommandLine.arguments[1]) else {
  fail("usage: WebSocketEcho PORT PATH")
}
let descriptor = connectTo(port)
echo(descriptor, open(descriptor, Array(CommandLine.arguments[2].utf8), port: port))
// The server closes first (section 7.1.1).
shutdown(descriptor, Int32(SHUT_WR))
while !read(descriptor).isEmpty {}
