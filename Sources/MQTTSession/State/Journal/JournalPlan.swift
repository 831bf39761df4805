import Journal
import MQTTWire
import Storage

/// Where the parts of a journal are in the caller's block. A build without journals has no plan for them
/// either.
#if !WITHOUT_JOURNAL
  struct JournalPlan: BitwiseCopyable {
    /// `nil`: there is no journal. Most clients have none, and spend no time on it.
    private let parts: Parts?

    init(_ options: borrowing SessionOptions, descriptors: Int, in plan: inout ArenaLayout) {
      parts = options.journalBatchBytes > 0 ? Parts(options, descriptors: descriptors, in: &plan) : nil
    }

    func stored(in block: borrowing Arena, isUrgent: Bool) -> JournalSlot<StoredMessages> {
      guard let parts else { return JournalSlot() }
      return parts.stored(in: block, isUrgent: isUrgent)
    }

    func journal(in block: borrowing Arena) -> JournalSlot<SessionJournal> {
      guard let parts else { return JournalSlot() }
      return parts.journal(in: block)
    }
  }

  private struct Parts: BitwiseCopyable {
    let stored: StoredMessages.Plan
    let urgent: StoredMessages.Plan
    let slot: ArenaSlice<SessionJournal>
    let blocks: ArenaSlice<UInt8>
    let withheld: ArenaSlice<SessionJournal.Withheld>
    let numbers: DeliveryNumbers.Plan
    let delay: UInt32
    let isStrict: Bool
    let tellsStored: Bool
    let largestPacket: Int
    let reserve: Int
    let urgentReserve: Int

    @inline(never)
    @_optimize(size)
    init(_ options: borrowing SessionOptions, descriptors: Int, in plan: inout ArenaLayout) {
      stored = StoredMessages.Plan(messages: options.outboxMessages, descriptors: descriptors, in: &plan)
      urgent = StoredMessages.Plan(
        messages: options.urgentMessages, descriptors: options.urgentMessages, in: &plan)
      slot = plan.reserve(1, of: SessionJournal.self)
      withheld = plan.reserve(options.receiveMaximum, of: SessionJournal.Withheld.self)
      numbers = DeliveryNumbers.Plan(options.deliveryNumbers, in: &plan)
      blocks = plan.reserve(options.journalBatchBytes, of: UInt8.self)
      delay = options.journalDelay
      isStrict = options.journalIsStrict
      tellsStored = options.journalTellsStored
      largestPacket = options.largestStored
      reserve = options.outboxBytes &- options.outboxByteLimit
      urgentReserve = options.urgentBytes &- options.urgentByteLimit
    }

    @inline(never)
    @_optimize(size)
    func stored(in block: borrowing Arena, isUrgent: Bool) -> JournalSlot<StoredMessages> {
      StoredMessages.slot(
        isUrgent ? urgent : stored, in: block, largestPacket: largestPacket,
        reserve: isUrgent ? urgentReserve : reserve)
    }

    @inline(never)
    @_optimize(size)
    func journal(in block: borrowing Arena) -> JournalSlot<SessionJournal> {
      OptionalSlot(slot, in: block) {
        SessionJournal(
          blocks: block.region(blocks), withheld: block.table(withheld),
          numbers: DeliveryNumbers(numbers, in: block), delay: delay, isStrict: isStrict,
          tellsStored: tellsStored)
      }
    }
  }
#else
  struct JournalPlan: BitwiseCopyable {
    init(_ options: borrowing SessionOptions, descriptors: Int, in plan: inout ArenaLayout) {}

    func stored(in block: borrowing Arena, isUrgent: Bool) -> JournalSlot<StoredMessages> { JournalSlot() }

    func journal(in block: borrowing Arena) -> JournalSlot<SessionJournal> { JournalSlot() }
  }
#endif
