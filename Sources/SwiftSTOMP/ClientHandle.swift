import CInterface
import CSwiftSTOMP
import Driver
import Platform
import STOMPClient
import Storage

/// The driver, on Linux.
typealias Client = STOMPDriver<Linux>

/// What is at the beginning of the caller's block: `sst_client *` points to it. Other threads read `magic` and `submitter`
/// while the owner changes the client. Therefore these do not change as long as the client lives, and the client is behind
/// the handle.
@safe struct ClientHandle: ~Copyable {
  /// It comes first, because the thread sanitizer of Swift 6.3.1 takes the first field for the address of `client`.
  private let start: UnsafeMutablePointer<Client>
  /// Distinguishes a client from other memory, and from a client that was closed.
  var magic: UInt32
  let submitter: FrameSubmitter
  /// The function of `sst_set_tap`. Only the owner uses it.
  var tap: OwnTap? = nil

  /// The caller guarantees that there is a client at `start`, which is the handle's from now on.
  @unsafe init(client start: UnsafeMutablePointer<Client>, submitter: FrameSubmitter) {
    magic = Self.liveMagic
    self.submitter = submitter
    unsafe self.start = unsafe start
  }

  deinit { unsafe start.deinitialize(count: 1) }

  /// Only the owner may use it.
  var client: Client {
    unsafeAddress { unsafe UnsafePointer(start) }
    nonmutating unsafeMutableAddress { unsafe start }
  }

  static var liveMagic: UInt32 { 0x5353_5443 }  // "SSTC"
  static var closedMagic: UInt32 { 0 }
}

@safe struct OwnTap: BitwiseCopyable {
  let function: sst_tap
  let user: UnsafeMutableRawPointer?
}

/// Returns what a handle points to, or throws what is wrong with the handle.
///
/// The caller guarantees that it is a handle from `sst_client_init`, and that no other thread uses the client meanwhile.
@inline(never)
@_optimize(size)
func slot(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  guard let handle = unsafe handle else { throw .null }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
  guard unsafe slot.pointee.magic == ClientHandle.liveMagic else { throw .client }
  return unsafe slot
}

/// Returns the client, if its caller has the transport.
func engine(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  let slot = try unsafe slot(handle)
  guard unsafe slot.pointee.client.isCallerDriven else { throw .state }
  return unsafe slot
}

/// Returns the time of the client's clock.
func now(_ slot: UnsafeMutablePointer<ClientHandle>) -> Instant { unsafe slot.pointee.client.time }

/// Runs `body` and returns its result, or the number of what it throws.
@inline(__always)
func status(_ body: () throws(Status) -> Int32) -> Int32 {
  do throws(Status) {
    return try body()
  } catch {
    return number(of: error)
  }
}

/// It is a table, and to look it up in a function of its own is shorter at each of its many places.
@inline(never)
private func number(of status: Status) -> Int32 { status.rawValue }

// MARK: Bytes and structs of the caller

/// Returns the span of a `sst_bytes`. It lasts as long as the call it came with.
@inline(__always)
@_lifetime(immortal)
func span(_ bytes: sst_bytes) throws(Status) -> Span<UInt8> {
  guard let span = unsafe callSpan(bytes.data, bytes.size) else { throw .null }
  return span
}

/// Returns the span of a `sst_bytes` that may be left out.
@inline(__always)
@_lifetime(immortal)
func span(_ bytes: UnsafePointer<sst_bytes>?) throws(Status) -> Span<UInt8> {
  guard let bytes = unsafe bytes else { return Span() }
  return try unsafe span(bytes.pointee)
}

/// Checks the size of a struct from the caller, who guarantees as many readable bytes at `start`.
@inline(__always)
func checkSize(_ start: UnsafeRawPointer, _ size: UInt32, known: Int) throws(Status) {
  guard unsafe StructSize.isKnown(start, size, known: known) else { throw .structSize }
}

/// They stay where they are until the event is released, or longer.
@inline(__always)
func bytes(_ span: Span<UInt8>) -> sst_bytes {
  unsafe span.withUnsafeBytes { bytes in unsafe sst_bytes(data: bytes.baseAddress, size: bytes.count) }
}
