import CTLSEngine
import Transports

/// What stands in for TLS: a handshake of one byte from the client, `>`, and two from the server, `<` each; a record
/// is a length and as many bytes, each of them masked. It has room for one record in each direction, and keeps a
/// record that has come until all of it was read.
///
/// The length 0 is the peer's close_notify, and its own. 255 is an alert, which ends the connection with its number
/// in the next byte.
enum MaskingEngine {
  static let mask: UInt8 = 0x55
  static let longestRecord = 100

  struct Connection: BitwiseCopyable {
    var answers: UInt8 = 0
    var isFinished = false
    var inCount: Int32 = 0
    var outCount: Int32 = 0
    /// How much of the first record in `input` was read.
    var read: Int32 = 0
    var input = InlineArray<128, UInt8>(repeating: 0)
    var output = InlineArray<128, UInt8>(repeating: 0)
  }

  /// The one that the engine has begun and not ended; they are counted.
  nonisolated(unsafe) static var begun = 0
  nonisolated(unsafe) static var ended = 0
  nonisolated(unsafe) static var names: [String] = []
  /// How often reading or writing has failed, after which a client does not call it again.
  nonisolated(unsafe) static var failures = 0
  /// After so many records, writing fails.
  nonisolated(unsafe) static var recordsLeft = Int.max

  nonisolated(unsafe) private static let functions: UnsafePointer<smq_tls_engine> = {
    let place = UnsafeMutablePointer<smq_tls_engine>.allocate(capacity: 1)
    var engine = smq_tls_engine()
    engine.size = UInt32(MemoryLayout<smq_tls_engine>.size)
    engine.connection_bytes = { _ in MemoryLayout<Connection>.size }
    engine.begin = { _, memory, _, target, failure in
      MaskingEngine.begun += 1
      MaskingEngine.names.append(String(cString: target!.pointee.name))
      if target!.pointee.port == 666 {
        MaskingEngine.begun -= 1
        failure!.pointee.cause = Int32(SMQ_TLS_KEY)
        return -1
      }
      let connection = memory!.bindMemory(to: Connection.self, capacity: 1)
      connection.initialize(to: Connection())
      connection.pointee.output[0] = UInt8(ascii: ">")
      connection.pointee.outCount = 1
      return 0
    }
    engine.receive_buffer = { memory, data, size in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      let used = Int(connection.pointee.inCount)
      data!.pointee = memory! + MemoryLayout<Connection>.offset(of: \.input)! + used
      size!.pointee = 128 - used
    }
    engine.received = { memory, size in
      memory!.assumingMemoryBound(to: Connection.self).pointee.inCount += Int32(size)
    }
    engine.handshake = { memory, failure in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      while connection.pointee.answers < 2, connection.pointee.inCount > 0 {
        guard connection.pointee.input[0] == UInt8(ascii: "<") else {
          failure!.pointee.cause = Int32(SMQ_TLS_NOT_TLS)
          return -1
        }
        MaskingEngine.drop(1, connection)
        connection.pointee.answers += 1
      }
      return connection.pointee.answers == 2 ? 1 : 0
    }
    engine.read = { memory, data, size, failure in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      guard connection.pointee.inCount > 0 else { return 0 }
      let length = Int(connection.pointee.input[0])
      if length == 0 { return SMQ_TLS_END }
      if length == 255 {
        guard connection.pointee.inCount > 1 else { return 0 }
        failure!.pointee.cause = Int32(SMQ_TLS_CERTIFICATE_WANTED)
        failure!.pointee.alert = Int32(connection.pointee.input[1])
        MaskingEngine.failures += 1
        return -1
      }
      guard connection.pointee.inCount > length else { return 0 }
      let done = Int(connection.pointee.read)
      let count = min(length - done, size)
      for index in 0..<count {
        data!.storeBytes(
          of: connection.pointee.input[1 + done + index] ^ MaskingEngine.mask, toByteOffset: index,
          as: UInt8.self)
      }
      connection.pointee.read += Int32(count)
      if connection.pointee.read == length {
        connection.pointee.read = 0
        MaskingEngine.drop(length + 1, connection)
      }
      return Int32(count)
    }
    engine.write = { memory, data, size, failure in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      guard connection.pointee.outCount == 0 else { return 0 }
      guard MaskingEngine.recordsLeft > 0 else {
        failure!.pointee.cause = Int32(SMQ_TLS_MEMORY)
        MaskingEngine.failures += 1
        return -1
      }
      MaskingEngine.recordsLeft -= 1
      let count = min(size, MaskingEngine.longestRecord)
      connection.pointee.output[0] = UInt8(count)
      for index in 0..<count {
        connection.pointee.output[1 + index] =
          data!.load(fromByteOffset: index, as: UInt8.self) ^ MaskingEngine.mask
      }
      connection.pointee.outCount = Int32(count + 1)
      return Int32(count)
    }
    engine.transmit = { memory, data, size in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      data!.pointee = UnsafeRawPointer(memory!) + MemoryLayout<Connection>.offset(of: \.output)!
      size!.pointee = Int(connection.pointee.outCount)
    }
    engine.transmitted = { memory, size in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      let rest = Int(connection.pointee.outCount) - size
      for index in 0..<rest { connection.pointee.output[index] = connection.pointee.output[index + size] }
      connection.pointee.outCount = Int32(rest)
    }
    engine.finish = { memory in
      let connection = memory!.assumingMemoryBound(to: Connection.self)
      connection.pointee.output[Int(connection.pointee.outCount)] = 0
      connection.pointee.outCount += 1
    }
    engine.end = { _ in MaskingEngine.ended += 1 }
    place.initialize(to: engine)
    return UnsafePointer(place)
  }()

  private static func drop(_ count: Int, _ connection: UnsafeMutablePointer<Connection>) {
    let rest = Int(connection.pointee.inCount) - count
    for index in 0..<rest { connection.pointee.input[index] = connection.pointee.input[index + count] }
    connection.pointee.inCount = Int32(rest)
  }

  static var engine: TLSEngine { TLSEngine(functions, settings: nil)! }

  /// The text as the peer sends it: in one record.
  static func record(_ text: String) -> [UInt8] {
    [UInt8(text.utf8.count)] + text.utf8.map { $0 ^ mask }
  }

  /// What the records say that the client has sent behind its greeting; close_notify is a `|`.
  static func text(_ sent: [UInt8]) -> String {
    guard sent.first == UInt8(ascii: ">") else { return "?" }
    var text = ""
    var index = 1
    while index < sent.count {
      let length = Int(sent[index])
      if length == 0 { text += "|" }
      guard index + length < sent.count else { break }
      text += String(decoding: sent[(index + 1)..<(index + 1 + length)].map { $0 ^ mask }, as: UTF8.self)
      index += 1 + length
    }
    return text
  }
}
