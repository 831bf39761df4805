import STOMPWire
import Storage

/// What the application has subscribed to. Each subscription has a slot, whose number is its `id`, and in it the frame that
/// is to be sent: SUBSCRIBE on each new connection, or UNSUBSCRIBE.
struct SubscriptionSlots: ~Copyable {
  enum State: UInt8, BitwiseCopyable {
    case free
    case wanted  // SUBSCRIBE is to be sent
    case asked  // and its receipt is on its way
    case active
    case unwanted  // UNSUBSCRIBE is to be sent
    case leaving  // and its receipt is on its way
    case gone  // until the application has been told
  }

  struct Slot: BitwiseCopyable {
    var state = State.free
    var mode = AckMode.automatic
    var dialect = Dialect.any
    /// How many bytes its frame has.
    var size: UInt16 = 0
    /// How many frames it has had; it wraps.
    var frames: UInt16 = 0
    var cookie: UInt64 = 0
    /// The application waits for its result.
    var isAwaited = false
    /// UNSUBSCRIBE has headers: the server has to have it, and the end of the connection does not do.
    var mustBeSent = false
    /// That is known, and was not taken.
    var hasResult = false
    var result = SubscriptionResult.Kind.subscribed

    var wantsAcknowledgements: Bool { mode != .automatic && state != .unwanted && state != .leaving }
  }

  private let inPlace = InPlace()
  private var slots: Table<Slot>
  private var frames: Region
  /// The room for the frame of each.
  let frameBytes: Int
  /// How many have a frame that is to be sent.
  private(set) var unsent = 0
  /// How many wait for a receipt.
  private(set) var unconfirmed = 0
  /// How many have a result that was not taken.
  private(set) var results = 0

  init(slots: consuming Table<Slot>, frames: consuming Region, frameBytes: Int) {
    self.slots = slots
    self.frames = frames
    self.frameBytes = frameBytes
    for slot in 0..<self.slots.count { self.slots[slot] = Slot() }
  }

  var count: Int { slots.count }

  subscript(slot: Int) -> Slot { slots[slot] }

  func isUsed(_ slot: Int) -> Bool {
    slot >= 0 && slot < slots.count && slots[slot].state != .free && slots[slot].state != .gone
  }

  var firstFree: Int? {
    for slot in 0..<slots.count where slots[slot].state == .free { return slot }
    return nil
  }

  /// What the next frame of a slot is called in its receipt. A receipt may come when the slot has another frame: that of
  /// SUBSCRIBE after `unsubscribe`.
  func nextNumber(of slot: Int) -> UInt32 {
    UInt32(slots[slot].frames) << 16 | UInt32(truncatingIfNeeded: slot)
  }

  /// The slot whose frame this is; `nil`: it has another one now.
  private func slot(of number: UInt32) -> Int? {
    let slot = Int(number & 0xFFFF)
    guard slot < slots.count, UInt32(slots[slot].frames &- 1) == number >> 16 else { return nil }
    return slot
  }

  // MARK: The application

  @_lifetime(&self)
  mutating func space(of slot: Int) -> MutableSpan<UInt8> {
    let start = slot &* frameBytes
    return frames.mutableBytes(in: start..<start &+ frameBytes)
  }

  /// SUBSCRIBE was written.
  mutating func add(_ slot: Int, _ mode: AckMode, _ dialect: Dialect, size: Int, cookie: UInt64) {
    slots[slot] = Slot(
      state: .wanted, mode: mode, dialect: dialect, size: UInt16(truncatingIfNeeded: size),
      frames: slots[slot].frames &+ 1, cookie: cookie, isAwaited: true)
    unsent &+= 1
  }

  /// UNSUBSCRIBE was written in place of SUBSCRIBE. It is sent if that was, or if it has headers.
  mutating func remove(_ slot: Int, _ dialect: Dialect, size: Int, cookie: UInt64, hasHeaders: Bool) {
    if slots[slot].hasResult { results &-= 1 }
    if slots[slot].state == .wanted {
      unsent &-= 1
      guard hasHeaders else {
        // The server does not know it on this connection.
        slots[slot] = Slot(frames: slots[slot].frames, cookie: cookie, isAwaited: true)
        return end(slot, .unsubscribed, .gone)
      }
    }
    unsent &+= 1
    if slots[slot].state == .asked { unconfirmed &-= 1 }
    slots[slot] = Slot(
      state: .unwanted, mode: slots[slot].mode, dialect: dialect, size: UInt16(truncatingIfNeeded: size),
      frames: slots[slot].frames &+ 1, cookie: cookie, isAwaited: true, mustBeSent: hasHeaders)
  }

  // MARK: Sending

  /// The next one whose frame is to be sent.
  var next: Int? {
    guard unsent > 0 else { return nil }
    for slot in 0..<slots.count where slots[slot].state == .wanted || slots[slot].state == .unwanted {
      return slot
    }
    return nil
  }

  @_lifetime(borrow self)
  borrowing func frame(of slot: Int) -> Span<UInt8> {
    frames.bytes(at: slot &* frameBytes, count: Int(slots[slot].size))
  }

  mutating func sent(_ slot: Int) {
    unsent &-= 1
    unconfirmed &+= 1
    slots[slot].state = slots[slot].state == .wanted ? .asked : .leaving
  }

  // MARK: What becomes of them

  /// Its receipt came.
  mutating func confirmed(_ number: UInt32) {
    guard let slot = slot(of: number) else { return }
    if slots[slot].state == .asked || slots[slot].state == .leaving { unconfirmed &-= 1 }
    switch slots[slot].state {
    case .asked: end(slot, .subscribed, .active)
    case .leaving: end(slot, .unsubscribed, .gone)
    default: break
    }
  }

  /// The server has refused SUBSCRIBE.
  mutating func refused(_ number: UInt32) {
    guard let slot = slot(of: number), slots[slot].state == .asked else { return }
    // The application is told, although it may have been confirmed on an earlier connection.
    slots[slot].isAwaited = true
    unconfirmed &-= 1
    end(slot, .refused, .gone)
  }

  /// The server has chosen a version: a subscription that it can't express ends.
  mutating func agreed(_ version: STOMPVersion) {
    for slot in 0..<slots.count {
      let isEnd = slots[slot].state == .unwanted
      guard isEnd || slots[slot].state == .wanted else { continue }
      let hasMode = isEnd || slots[slot].mode != .individual || version.hasNack
      guard !slots[slot].dialect.fits(version) || !hasMode else { continue }
      unsent &-= 1
      slots[slot].isAwaited = true
      end(slot, isEnd ? .unsubscribeVersion : .version, .gone)
    }
  }

  private mutating func end(_ slot: Int, _ kind: SubscriptionResult.Kind, _ state: State) {
    slots[slot].state = state
    guard slots[slot].isAwaited else { return }
    slots[slot].isAwaited = false
    if !slots[slot].hasResult { results &+= 1 }
    slots[slot].hasResult = true
    slots[slot].result = kind
  }

  mutating func takeResult() -> SubscriptionResult? {
    guard results > 0 else { return nil }
    for slot in 0..<slots.count where slots[slot].hasResult {
      let result = SubscriptionResult(slot: slot, cookie: slots[slot].cookie, kind: slots[slot].result)
      results &-= 1
      slots[slot].hasResult = false
      if slots[slot].state == .gone { slots[slot] = Slot(frames: slots[slot].frames) }
      return result
    }
    return nil
  }

  /// A new connection knows none of them. Those that were to end have ended.
  mutating func connectionEnded() {
    (unsent, unconfirmed) = (0, 0)
    for slot in 0..<slots.count {
      switch slots[slot].state {
      case .free, .gone: break
      case .wanted, .asked, .active:
        slots[slot].state = .wanted
        unsent &+= 1
      case .unwanted where slots[slot].mustBeSent: unsent &+= 1
      case .unwanted, .leaving: end(slot, slots[slot].mustBeSent ? .unsubscribeUnknown : .unsubscribed, .gone)
      }
    }
  }
}

/// When the server takes a message for consumed ("SUBSCRIBE ack Header").
public enum AckMode: UInt8, BitwiseCopyable, Sendable {
  case automatic  // when it has sent it
  case client  // ACK acknowledges it and all before it
  case individual  // ACK acknowledges it alone; from 1.1 on

  var name: StaticString {
    switch self {
    case .automatic: "auto"
    case .client: "client"
    case .individual: "client-individual"
    }
  }
}

/// What became of SUBSCRIBE or UNSUBSCRIBE.
public struct SubscriptionResult: BitwiseCopyable {
  public enum Kind: UInt8, BitwiseCopyable, Sendable {
    case subscribed, unsubscribed
    case refused  // and so the server ends the connection
    case version  // that of the connection does not have it
    case unsubscribeVersion  // nor the headers of UNSUBSCRIBE
    case unsubscribeUnknown  // it had headers, and the connection ended before its receipt came

    public var isUnsubscribe: Bool {
      switch self {
      case .unsubscribed, .unsubscribeVersion, .unsubscribeUnknown: true
      case .subscribed, .refused, .version: false
      }
    }
  }

  public let slot: Int
  public let cookie: UInt64
  public let kind: Kind
}
