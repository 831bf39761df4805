import Storage

/// Where the parts of a journal are in the caller's block. A build without journals has no plan for them
/// either.
#if !WITHOUT_JOURNAL
  struct JournalPlan: BitwiseCopyable {
    private let stored: StoredMessages.Plan
    private let urgent: StoredMessages.Plan
    private let slot: ArenaSlice<SessionJournal>
    private let blocks: ArenaSlice<UInt8>
    private let withheld: ArenaSlice<SessionJournal.Withheld>
    private let delay: UInt32
    private let isStrict: Bool
    private let tellsStored: Bool
    private let largestPacket: Int

    @inline(never)
    @_optimize(size)
    init(_ options: borrowing SessionOptions, descriptors: Int, in plan: inout ArenaLayout) {
      let isThere = options.journalBatchBytes > 0
      stored = StoredMessages.Plan(
        messages: isThere ? options.outboxMessages : 0, descriptors: descriptors, in: &plan)
      urgent = StoredMessages.Plan(
        messages: isThere ? options.urgentMessages : 0, descriptors: options.urgentMessages, in: &plan)
      slot = plan.reserve(isThere ? 1 : 0, of: SessionJournal.self)
      withheld = plan.reserve(isThere ? options.receiveMaximum : 0, of: SessionJournal.Withheld.self)
      blocks = plan.reserve(isThere ? options.journalBatchBytes : 0, of: UInt8.self)
      delay = options.journalDelay
      isStrict = options.journalIsStrict
      tellsStored = options.journalTellsStored
      largestPacket = JournalLimits.largestPacket(batchBytes: options.journalBatchBytes)
    }

    @inline(never)
    @_optimize(size)
    func stored(in block: borrowing Arena, isUrgent: Bool) -> JournalSlot<StoredMessages> {
      StoredMessages.slot(isUrgent ? urgent : stored, in: block, largestPacket: largestPacket)
    }

    @inline(never)
    @_optimize(size)
    func journal(in block: borrowing Arena) -> JournalSlot<SessionJournal> {
      OptionalSlot(slot, in: block) {
        SessionJournal(
          blocks: block.region(blocks), withheld: block.table(withheld), delay: delay, isStrict: isStrict,
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
