import CPlatform

/// A running client, at its inspection socket.
final class InspectedClient {
  let path: [UInt8]
  let descriptor: Int32
  /// The blocks of a datagram are whole.
  private var reader = CaptureReader(longest: InspectedClient.longestDatagram)
  /// Its Client Identifier; empty: it has none, as a client of STOMP.
  private(set) var name: [UInt8] = []
  /// What people read: a client without an id is called by its socket.
  var label: [UInt8] { name.isEmpty ? path : name }
  /// What it has answered last, in its order.
  private(set) var numbers = ClientNumbers()
  /// How many answers there were.
  private(set) var answers = 0
  /// Packets that did not get here, because this program was too slow.
  private(set) var lost: Int64 = 0
  /// It has closed the connection.
  private(set) var hasEnded = false
  private var packets: [SeenPacket] = []

  private static let longestDatagram = 262_144

  init(_ path: [UInt8]) throws(ExitError) {
    self.path = path
    descriptor = System.inspect(path)
    guard descriptor >= 0 else { throw Self.refused(path, -descriptor) }
  }

  deinit { System.close(descriptor) }

  /// Asks for its numbers.
  func ask() {
    let error = System.write(descriptor, ascii("?"))
    if error != 0 { hasEnded = true }
  }

  /// The packets that have come since the last call.
  func takePackets() -> [SeenPacket] {
    defer { packets = [] }
    return packets
  }

  /// Reads what is there.
  func read() throws(ExitError) {
    // It is as much as the socket may hold, at most, so that a busy client does not keep this program from its other work.
    for _ in 0..<64 where !hasEnded {
      var data: [UInt8] = []
      guard let count = System.receive(descriptor, into: &data, Self.longestDatagram) else {
        hasEnded = true
        break
      }
      if count == 0 { break }
      reader.add(data)
      try take()
    }
  }

  // ---- Helpers

  private func take() throws(ExitError) {
    do {
      while let item = try reader.next() {
        switch item {
        case .section: break
        case .client(let name): self.name = name
        case .packet(let packet): packets.append(packet)
        case .statistics(_, let lost, let text):
          self.lost = lost
          guard !text.isEmpty else { continue }
          numbers = ClientNumbers(text)
          answers += 1
        }
      }
    } catch {
      guard case .otherProtocol = error else {
        throw ExitError(text: "\(path.printable): what comes from there is no capture")
      }
      throw ExitError(text: "\(path.printable): \(error.text)")
    }
  }

  private static func refused(_ path: [UInt8], _ error: Int32) -> ExitError {
    let hint: Text =
      error == Int32(PLATFORM_EPROTOTYPE) ? "it is no inspection socket of a client" : System.errorText(error)
    return ExitError(text: "\(path.printable): \(hint)")
  }
}

/// The numbers of a client: names of smq_stats, or of sst_stats, and values.
struct ClientNumbers {
  private(set) var all: [(name: [UInt8], value: Int64)] = []
  /// Of `latency` and `round_trip`, how many of each class.
  private(set) var classes: [(name: [UInt8], index: Int, count: Int64)] = []

  /// Sums and hundredfolds of numbers up to here are numbers, too.
  static let most: Int64 = 1 << 53

  init() {}

  /// Lines of a name and a number, or of a name, a class, and a number. Other lines are passed over.
  init(_ text: [UInt8]) {
    for line in text.split(separator: 10) {
      let words = line.split(separator: 32).map { Array($0) }
      let values = words.dropFirst().compactMap { $0.number(in: 0...Self.most) }
      guard words.count == values.count + 1, Self.isName(words[0]) else { continue }
      if values.count == 1 { all.append((words[0], values[0])) }
      if values.count == 2, values[0] < 16 { classes.append((words[0], Int(values[0]), values[1])) }
    }
  }

  private static func isName(_ text: [UInt8]) -> Bool {
    1...64 ~= text.count && text.allSatisfy { 97...122 ~= $0 || 48...57 ~= $0 || $0 == 95 }
  }

  /// 0 if the client does not have it.
  subscript(name: StaticString) -> Int64 { all.first { $0.name == name }?.value ?? 0 }

  func classes(of name: StaticString) -> [Int64] {
    var counts = [Int64](repeating: 0, count: 16)
    for one in classes where one.name == name { counts[one.index] = one.count }
    return counts
  }

  var state: StaticString {
    let names: [StaticString] = ["disconnected", "connecting", "connected", "disconnecting", "waiting"]
    let number = self["state"]
    return number < Int64(names.count) ? names[Int(number)] : "unknown"
  }

  var version: StaticString { versionNumber(UInt32(truncatingIfNeeded: self["protocol"])) }
}
