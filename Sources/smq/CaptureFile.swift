import CSwiftMQTT
import CTool
import Capture

/// The file of --capture: each packet that goes over the connections of this run. If it has a largest size, what is
/// older goes to FILE.1 when the file has grown to half of that.
final class CaptureFile {
  private let path: [UInt8]
  private let largest: Int64?
  /// Not a pipe, which keeps nothing, and is no place to begin anew.
  private let isFile: Bool
  private var descriptor: Int32
  private var size: Int64 = 0
  private var pending = Blocks()
  /// Of each client, its name.
  private var clients: [[UInt8]] = []
  /// Of each client, its last CONNECT: each file has it, because it says which version of MQTT the others are of.
  private var connects: [(packet: CapturedPacket, data: [UInt8])?] = []
  private var connection: UInt32 = 0
  /// The errno of a write that failed; nothing is written after it.
  private(set) var error: Int32 = 0

  init(_ path: [UInt8], largest: Int64?) throws(ExitError) {
    self.path = path
    self.largest = largest
    descriptor = System.create(path)
    guard descriptor >= 0 else { throw Self.refused(path, -descriptor) }
    isFile = System.state(descriptor).size >= 0
    begin()
  }

  /// That of this run; `nil`: there is none.
  static func open(_ arguments: Arguments) throws(ExitError) -> CaptureFile? {
    guard !arguments.capture.isEmpty else { return nil }
    if let capture = arguments.captureFile { return capture }
    let capture = try CaptureFile(arguments.capture, largest: arguments.captureSize)
    arguments.captureFile = capture
    return capture
  }

  deinit { System.close(descriptor) }

  func add(client name: [UInt8]) -> UInt32 {
    clients.append(name)
    connects.append(nil)
    pending.interface(name: name)
    return UInt32(clients.count - 1)
  }

  func write(_ packet: ObservedPacket, of client: UInt32) {
    guard error == 0 else { return }
    if packet.type == 1 { connection &+= 1 }
    let wall = System.wall
    let time = UInt64(wall.seconds) * 1_000_000 + UInt64(wall.nanoseconds) / 1000
    let captured = CapturedPacket(
      interface: client,
      time: CaptureTime(
        high: UInt32(truncatingIfNeeded: time >> 32), low: UInt32(truncatingIfNeeded: time)),
      isSent: packet.isSent, connection: connection, length: packet.length,
      outbox: CapturedPacket.Outbox(
        messages: UInt32(truncatingIfNeeded: packet.outboxMessages),
        inFlight: UInt32(truncatingIfNeeded: packet.inFlight)))
    if packet.type == 1 { connects[Int(client)] = (captured, packet.data) }
    pending.packet(captured, packet.data)
    if pending.bytes.count >= 65_536 { flush() }
  }

  func flush() {
    guard error == 0, !pending.bytes.isEmpty else { return }
    error = System.write(descriptor, pending.bytes)
    size += Int64(pending.bytes.count)
    pending = Blocks()
    if let largest, isFile, size >= largest / 2 { turn() }
  }

  /// Throws if something could not be written.
  func finish() throws(ExitError) {
    flush()
    if error != 0 { throw Self.refused(path, error) }
  }

  // ---- Helpers

  private func begin() {
    pending = Blocks()
    size = 0
    pending.sectionHeader(program: ascii("smq"))
    for name in clients { pending.interface(name: name) }
  }

  /// Keeps what is written as FILE.1, and begins anew.
  private func turn() {
    error = System.rename(path, path + ascii(".1"))
    guard error == 0 else { return }
    let next = System.create(path)
    guard next >= 0 else { return error = -next }
    System.close(descriptor)
    descriptor = next
    begin()
    for case let (packet, data)? in connects { pending.packet(packet, data) }
  }

  private static func refused(_ path: [UInt8], _ error: Int32) -> ExitError {
    ExitError(text: "--capture \(path.printable): \(System.errorText(error))")
  }
}

/// Who is told each packet and each log entry of a client.
class PacketObserver {
  func packet(_ packet: ObservedPacket) {}
  /// One of SMQ_LOG_…, with its two numbers.
  func entry(_ what: Int, _ number: Int, _ other: Int) {}
}

/// A smq_packet, copied.
struct ObservedPacket {
  let isSent: Bool
  let type: UInt32
  let length: Int
  let outboxMessages: Int
  let inFlight: Int
  let data: [UInt8]
}
