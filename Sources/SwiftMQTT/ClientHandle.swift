import CInterface
import CSwiftMQTT
import Driver
import MQTTClient
import Platform
import Storage

/// The driver, on Linux.
typealias Client = MQTTClient.Client<Linux>

/// What is at the beginning of the caller's block: `smq_client *` points to it.
///
/// Nothing in it that other threads read changes as long as the client lives, because they read it while the
/// owner changes the client. Therefore the client is behind it.
@safe struct ClientHandle: ~Copyable {
  /// It comes first, because the thread sanitizer of Swift 6.3.1 takes the first field for the address of
  /// `client`.
  private let start: UnsafeMutablePointer<Client>
  /// The handlers that the application has set; `nil`: there is no room for any.
  private let table: UnsafeMutablePointer<HandlerTable>?
  /// Distinguishes a client from other memory, and from a client that was closed.
  var magic: UInt32
  /// The same for the owner's calls, which find another value in a client that is parked in a group: then the
  /// call is the first one since the group has served the client, and the group notes it.
  var ownerMagic: UInt32
  let submitter: Submitter
  /// Where the client is a member, and which one.
  var group: UnsafeMutablePointer<Group>? = nil
  var member = 0
  var observers = Observers()
  var ownLog: OwnLog? = nil

  /// The caller guarantees that there is a client at `start`, and, if there are handlers, their table at `table`. They
  /// are the handle's from now on.
  @unsafe init(
    submitter: Submitter, client start: UnsafeMutablePointer<Client>,
    handlers table: UnsafeMutablePointer<HandlerTable>?
  ) {
    let isReady = unsafe !Feature.hasEngine || start.pointee.isJournalOpen
    magic = isReady ? Self.liveMagic : Self.openingMagic
    ownerMagic = magic
    self.submitter = submitter
    unsafe self.start = unsafe start
    unsafe self.table = unsafe table
  }

  deinit {
    unsafe start.deinitialize(count: 1)
    unsafe table?.deinitialize(count: 1)
  }

  /// The journal is taken up: now there is a client for all other calls.
  mutating func open() {
    magic = Self.liveMagic
    ownerMagic = Self.liveMagic
  }

  /// What a call is told that finds the client not live.
  var refusal: Status { Feature.hasEngine && magic == Self.openingMagic ? .state : .client }

  // Only the owner may use these.

  var client: Client {
    unsafeAddress { unsafe UnsafePointer(start) }
    nonmutating unsafeMutableAddress { unsafe start }
  }

  var clientAddress: UnsafeMutablePointer<Client> {
    @inline(__always) get { unsafe start }
  }

  var hasHandlers: Bool {
    @inline(__always) get { unsafe table != nil && Feature.hasHandlers }
  }

  /// The table of a client that has handlers.
  var handlers: HandlerTable {
    unsafeAddress { unsafe UnsafePointer(table!) }
    nonmutating unsafeMutableAddress { unsafe table! }
  }

  static var liveMagic: UInt32 { 0x534D_5154 }  // "SMQT"
  static var parkedMagic: UInt32 { 0x534D_5150 }  // "SMQP"
  /// The journal is not taken up yet: `smq_engine_storage`.
  static var openingMagic: UInt32 { 0x534D_514F }  // "SMQO"
  static var closedMagic: UInt32 { 0 }
}

/// Returns what a handle points to, or throws what is wrong with the handle. If the client was parked, its
/// group notes that it is called.
///
/// It is a function of its own, because nearly every export calls it. Those on the way of a plain message
/// compare `ownerMagic` first.
///
/// The caller guarantees that it is a handle from `smq_client_init`, and that no other thread uses the
/// client meanwhile.
@inline(never)
@_optimize(size)
func slot(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  guard let handle = unsafe handle else { throw .null }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
  if Feature.hasGroup, unsafe slot.pointee.ownerMagic == ClientHandle.parkedMagic,
    let group = unsafe slot.pointee.group
  {
    unsafe group.pointee.touch(slot)
  }
  guard unsafe slot.pointee.ownerMagic == ClientHandle.liveMagic else { throw unsafe slot.pointee.refusal }
  return unsafe slot
}

/// Returns the same for a client whose journal may not be open yet.
@_optimize(size)
func slotBeforeOpening(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  if Feature.hasEngine, Feature.hasJournal, let handle = unsafe handle {
    let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
    if unsafe slot.pointee.magic == ClientHandle.openingMagic { return unsafe slot }
  }
  return try unsafe slot(handle)
}

/// Returns the same for a client that is in no group, and to a thread that does not own the client, and reads
/// only what no call changes.
///
/// The caller guarantees that it is a handle from `smq_client_init`.
@inline(__always)
func sharedSlot(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  guard let handle = unsafe handle else { throw .null }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
  guard unsafe slot.pointee.magic == ClientHandle.liveMagic else { throw unsafe slot.pointee.refusal }
  return unsafe slot
}

/// Returns the span of a `smq_bytes`. It lasts as long as the call it came with.
@inline(__always)
@_lifetime(immortal)
func span(_ bytes: smq_bytes) throws(Status) -> Span<UInt8> {
  guard let span = unsafe callSpan(bytes.data, bytes.size) else { throw .null }
  return span
}

/// Returns the span of a `smq_bytes` that may be left out.
@inline(__always)
@_lifetime(immortal)
func span(_ bytes: UnsafePointer<smq_bytes>?) throws(Status) -> Span<UInt8> {
  guard let bytes = unsafe bytes else { return Span() }
  return try unsafe span(bytes.pointee)
}

/// Checks the size of a struct from the caller, who guarantees as many readable bytes at `start`.
@inline(__always)
func checkSize(_ start: UnsafeRawPointer, _ size: UInt32, known: Int) throws(Status) {
  guard unsafe StructSize.isKnown(start, size, known: known) else { throw .structSize }
}
