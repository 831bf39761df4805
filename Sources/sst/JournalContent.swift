import Journal
import Storage

/// A frame that the next client would send.
private struct KeptFrame {
  let serial: UInt64
  let cookie: UInt64
  let isQuiet: Bool
  private(set) var headers: [STOMP.Header] = []
  private(set) var body: [UInt8] = []

  /// The record of a frame; `nil`: it is none as a client has them. The checksum says that a record is whole, and not who
  /// wrote it.
  init?(_ record: Span<UInt8>) {
    guard let header = FrameRecord.Header(record) else { return nil }
    (serial, cookie) = (header.serial.uint64, header.cookie.uint64)
    isQuiet = header.flags & FrameRecord.Header.isQuiet != 0
    // 0 to 3: STOMP 1.0 has no escapes, and a frame that no version reads otherwise has none either.
    guard header.dialect <= 3 else { return nil }
    let frame = record.extracting(FrameRecord.Header.size..<record.count).array
    guard frame.begins(with: "SEND\nreceipt:"), frame.last == 0 else { return nil }
    var rest = frame.dropLast().drop { $0 != 10 }.dropFirst()
    while let end = rest.firstIndex(of: 10), end > rest.startIndex {
      let line = rest[..<end]
      guard let colon = line.firstIndex(of: 58) else { return nil }
      let (name, value) = (Array(line[..<colon]), Array(line[(colon + 1)...]))
      headers.append(
        header.dialect < 2
          ? STOMP.Header(name: name, value: value)
          : STOMP.Header(name: Self.unescaped(name), value: Self.unescaped(value)))
      rest = rest[(end + 1)...]
    }
    guard rest.first == 10 else { return nil }
    body = Array(rest.dropFirst())
    // The next client writes another number there.
    headers.removeFirst()
  }

  var destination: [UInt8] { headers.first { $0.name == "destination" }?.value ?? [] }

  private static func unescaped(_ text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var isEscape = false
    for byte in text {
      if !isEscape && byte == 92 {
        isEscape = true
        continue
      }
      switch byte {
      case 110 where isEscape: result.append(10)
      case 114 where isEscape: result.append(13)
      case 99 where isEscape: result.append(58)
      default: result.append(byte)
      }
      isEscape = false
    }
    return result
  }
}

/// What a journal of STOMP says, record by record, and then in the order in which it is sent.
final class JournalContent: CommonJournal {
  private var frames: [KeptFrame] = []
  /// By the number of its entry.
  private var entries: [KeptFrame?] = []

  /// As STOMPSession does.
  override func apply(_ record: Record, _ body: Span<UInt8>) throws(JournalFault) -> Bool {
    guard let kind = FrameRecord.Kind(rawValue: record.kind) else { return false }
    let entry = Int(record.subject)
    switch kind {
    case .frame:
      guard let frame = KeptFrame(body) else {
        throw .damaged("what it has of a frame is no SEND of a client")
      }
      while entries.count <= entry { entries.append(nil) }
      entries[entry] = frame
    case .ended:
      if entry < entries.count { entries[entry] = nil }
    }
    return true
  }

  override func finish() throws(JournalFault) {
    for case .some(let frame) in entries { frames.append(frame) }
    frames.sort { $0.serial < $1.serial }
    entries = []
  }

  override var columns: [(name: StaticString, width: Int, isNumber: Bool)] {
    [("serial", 8, true), ("bytes", 8, true)]
  }
  override var lastColumn: StaticString { "destination" }

  override var rows: [(values: [[UInt8]], last: [UInt8])] {
    frames.map { ([decimal(unsigned: $0.serial), decimal(Int64($0.body.count))], $0.destination) }
  }

  override func addMessages(to json: inout JSONWriter) {
    for frame in frames {
      json.beginObject()
      json.add("serial", frame.serial)
      json.add("cookie", frame.cookie)
      json.key("quiet")
      json.bool(frame.isQuiet)
      json.key("destination")
      json.string(frame.destination)
      json.add(headers: frame.headers)
      json.add("length", UInt64(frame.body.count))
      json.add(body: frame.body)
      json.endObject()
    }
  }
}
