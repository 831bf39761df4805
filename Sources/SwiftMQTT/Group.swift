import Driver
import MQTTClient
import Platform
import Storage

/// What is at the beginning of a group's block: `smq_group *` points to it.
///
/// A client in it is in one of three queues. `parked`: nothing but its descriptor, its deadline or a call of
/// the program can give it something to do. `touched`: the program has called it since, and what it wants is
/// not sent yet. `ready`: it has an event for the program. The first call on a parked client is noticed by
/// `slot`, because its `ownerMagic` is another one, so that all other calls cost nothing.
@safe struct Group: ~Copyable {
  static var liveMagic: UInt32 { 0x534D_5147 }  // "SMQG"

  /// `nil`: it is unused.
  @safe struct Member: BitwiseCopyable {
    var slot: UnsafeMutablePointer<ClientHandle>?
  }

  var magic: UInt32
  /// How many of the ready clients `nextReady` may still hand out before the descriptors are asked again.
  private var turn = 0
  private let descriptors: DescriptorSet
  private var schedule: Schedule<Member>

  struct Plan {
    let group: ArenaSlice<Group>
    let members: ArenaSlice<Schedule<Member>.Entry>
    /// 0: a group cannot have so many members.
    let byteCount: Int

    @inline(never)
    @_optimize(size)
    init(capacity: UInt32) {
      var plan = ArenaLayout()
      group = plan.reserve(1, of: Group.self)
      members = Schedule.reserve(members: Int(truncatingIfNeeded: capacity & 0x1F_FFFF), in: &plan)
      byteCount = 1...1_048_576 ~= capacity ? plan.byteCount : 0
    }
  }

  @_optimize(size)
  init(_ plan: Plan, in block: borrowing Arena) throws(PlatformError) {
    descriptors = try DescriptorSet()
    unsafe schedule = Schedule(plan.members, in: block, value: Member(slot: nil))
    magic = Self.liveMagic
  }

  var descriptor: Int32 { descriptors.descriptor }

  // MARK: Members

  /// The caller guarantees that nothing else uses the client, and that the group does not move.
  @_optimize(size)
  mutating func add(
    _ slot: UnsafeMutablePointer<ClientHandle>, at place: UnsafeMutablePointer<Group>
  ) throws(Status) {
    guard unsafe slot.pointee.group == nil, unsafe !slot.pointee.client.isCallerDriven else { throw .state }
    guard let member = schedule.first(in: .unused) else { throw .full }
    guard unsafe descriptors.add(slot.pointee.client.descriptor, number: member) else { throw .noDescriptor }
    unsafe schedule[member].slot = unsafe slot
    unsafe slot.pointee.group = place
    unsafe slot.pointee.member = member
    schedule.move(member, to: .touched)
  }

  @inline(never)
  @_optimize(size)
  mutating func remove(_ slot: UnsafeMutablePointer<ClientHandle>) {
    let member = unsafe slot.pointee.member
    unsafe descriptors.remove(slot.pointee.client.descriptor)
    schedule.set(member, due: nil)
    schedule.move(member, to: .unused)
    unsafe schedule[member].slot = nil
    unsafe slot.pointee.group = nil
    unsafe slot.pointee.ownerMagic = ClientHandle.liveMagic
  }

  @_optimize(size)
  mutating func removeAll() {
    for member in schedule.members { if let slot = unsafe schedule[member].slot { unsafe remove(slot) } }
  }

  /// The program calls a client that was parked.
  @inline(__always)
  mutating func touch(_ slot: UnsafeMutablePointer<ClientHandle>) {
    unsafe slot.pointee.ownerMagic = ClientHandle.liveMagic
    unsafe schedule.move(slot.pointee.member, to: .touched)
  }

  // MARK: What there is to do

  private var hasReady: Bool { schedule.first(in: .ready) != nil }

  @inline(never)
  @_optimize(size)
  func nextTimeout(at now: Instant) -> Int32 {
    hasReady || schedule.first(in: .touched) != nil ? 0 : schedule.timeout(at: now)
  }

  /// Waits until a client has an event.
  @_optimize(size)
  mutating func wait(timeout: Int32) -> WaitResult {
    var now = Instant(milliseconds: Clock.milliseconds())
    let end = now.advanced(by: UInt32(bitPattern: timeout))
    var found = InlineArray<32, UInt32>(repeating: 0)
    while true {
      // A callback of one client may have called another.
      settle(at: now)
      // Without an end, which is below 0, it is longer than any other time.
      var pause = UInt32(bitPattern: nextTimeout(at: now))
      if timeout >= 0 { pause = min(pause, end.remaining(at: now)) }
      // None has a deadline or an event, so all are parked.
      if pause == .max, schedule.first(in: .parked) == nil { return .wouldWaitForever }
      let count = descriptors.wait(timeout: Int32(bitPattern: pause), into: &found)
      guard count >= 0 || count == DescriptorSet.interrupted else { return .failed }
      now = Instant(milliseconds: Clock.milliseconds())
      var index = 0
      while index < count {
        serve(Int(truncatingIfNeeded: found[index]), at: now, isDue: false)
        index &+= 1
      }
      // A client that has more to do at once is due again, and another time.
      turn = schedule.members.count
      while turn > 0, schedule.timeout(at: now) == 0 {
        serve(schedule.earliest, at: now, isDue: true)
        turn &-= 1
      }
      turn = schedule.members.count
      if hasReady { return .event }
      if count < 0 || timeout >= 0 && end.isReached(at: now) { return .nothing }
    }
  }

  /// The next client that has an event: each at most once, until the descriptors are asked again.
  @_optimize(size)
  mutating func nextReady() -> UnsafeMutablePointer<ClientHandle>? {
    while turn > 0, let member = schedule.first(in: .ready) {
      turn &-= 1
      schedule.move(member, to: .touched)
      if let slot = unsafe schedule[member].slot, unsafe slot.pointee.client.hasEvent { return unsafe slot }
    }
    turn = 0
    settle(at: Instant(milliseconds: Clock.milliseconds()))
    return nil
  }

  // MARK: One client

  /// Sends what the program wants of the clients that it has called.
  @inline(never)
  @_optimize(size)
  private mutating func settle(at now: Instant) {
    while let member = schedule.first(in: .touched), let slot = unsafe schedule[member].slot {
      _ = unsafe slot.pointee.client.settle(at: now)
      unsafe park(slot, at: now)
    }
  }

  /// Does what is due for a client that is parked, or ready.
  @inline(never)
  @_optimize(size)
  private mutating func serve(_ member: Int, at now: Instant, isDue: Bool) {
    guard let slot = unsafe schedule[member].slot else { return }
    let isReady = unsafe slot.pointee.ownerMagic == ClientHandle.liveMagic
    // The program takes an event before there is a use for more; but what is due does not wait for it.
    if isReady, !isDue { return }
    _ = unsafe slot.pointee.client.service(at: now)
    unsafe park(slot, at: now, isReady: isReady)
  }

  /// A client was served: it has an event, or waits for its descriptor and its deadline.
  @inline(never)
  @_optimize(size)
  private mutating func park(
    _ slot: UnsafeMutablePointer<ClientHandle>, at now: Instant, isReady: Bool = false
  ) {
    let member = unsafe slot.pointee.member
    var deadline: Instant?
    if unsafe slot.pointee.client.hasEvent {
      unsafe slot.pointee.ownerMagic = ClientHandle.liveMagic
      if !isReady { schedule.move(member, to: .ready) }
      // It may stay due until the program takes the event, and is served once in a millisecond.
      unsafe deadline = slot.pointee.client.nextDeadline
      if deadline?.isReached(at: now) ?? false { deadline = now.advanced(by: 1) }
    } else {
      unsafe slot.pointee.ownerMagic = ClientHandle.parkedMagic
      schedule.move(member, to: .parked)
      let timeout = unsafe slot.pointee.client.nextTimeout(at: now)
      deadline = timeout < 0 ? nil : now.advanced(by: UInt32(bitPattern: timeout))
    }
    schedule.set(member, due: deadline)
  }
}
