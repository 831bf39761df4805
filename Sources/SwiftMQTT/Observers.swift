import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage
import Transports

/// The observers of a client, in the order in which they were added. They are the program's memory, one pointing to the
/// next.
@safe struct Observers: ~Copyable {
  typealias Link = UnsafeMutablePointer<smq_observer>

  private(set) var first: Link? = nil

  /// They are the program's again, each by itself.
  deinit {
    var observer = unsafe first
    while let known = unsafe observer {
      unsafe observer = next(known)
      unsafe known.pointee.next = nil
    }
  }

  /// Returns false if it is there.
  mutating func add(_ new: Link) -> Bool {
    var last: Link? = nil
    var observer = unsafe first
    while let known = unsafe observer {
      if unsafe known == new { return false }
      unsafe last = unsafe known
      unsafe observer = next(known)
    }
    if let last = unsafe last {
      unsafe last.pointee.next = UnsafeMutableRawPointer(new)
    } else {
      unsafe first = unsafe new
    }
    return true
  }

  /// Returns false if it is not there.
  mutating func remove(_ old: Link) -> Bool {
    var last: Link? = nil
    var observer = unsafe first
    while let known = unsafe observer {
      guard unsafe known == old else {
        unsafe last = unsafe known
        unsafe observer = next(known)
        continue
      }
      if let last = unsafe last {
        unsafe last.pointee.next = known.pointee.next
      } else {
        unsafe first = next(known)
      }
      unsafe known.pointee.next = nil
      return true
    }
    return false
  }

  func forEach(_ body: (borrowing smq_observer) -> Void) {
    var observer = unsafe first
    while let known = unsafe observer {
      unsafe body(known.pointee)
      unsafe observer = next(known)
    }
  }

  /// What `add` has put there.
  private func next(_ observer: Link) -> Link? {
    unsafe observer.pointee.next.map { unsafe $0.assumingMemoryBound(to: smq_observer.self) }
  }
}

/// The function of `smq_set_log`.
@safe struct OwnLog: BitwiseCopyable {
  let function: smq_log
  let user: UnsafeMutableRawPointer?
  let level: LogHook.Level
}

/// Tells the client whom to tell: nobody, the one function that there is, or all observers by way of one function.
@_optimize(size)
@unsafe func observersChanged(_ slot: UnsafeMutablePointer<ClientHandle>) {
  let own = unsafe slot.pointee.ownLog
  var level: Int32 = 0
  var hasTap = false
  unsafe slot.pointee.observers.forEach { observer in
    if unsafe observer.log != nil { level = unsafe max(level, observer.log_level) }
    if unsafe observer.packet != nil { hasTap = true }
  }
  let user = UnsafeMutableRawPointer(slot)
  if level > 0, let most = LogHook.Level(rawValue: max(level, own?.level.rawValue ?? 0)) {
    unsafe slot.pointee.client.log = LogHook({ unsafe logToAll($0, $1, $2, $3, $4) }, user: user, level: most)
  } else {
    unsafe slot.pointee.client.log = own.map { unsafe LogHook($0.function, user: $0.user, level: $0.level) }
  }
  let hook = hasTap ? unsafe PacketHook({ unsafe tellAll($0, $1) }, user: user) : nil
  unsafe slot.pointee.client.engine.observe(hook, at: now(slot))
}

@_optimize(size)
private func logToAll(
  _ user: UnsafeMutableRawPointer?, _ level: Int32, _ what: Int32, _ number: Int32, _ other: Int32
) {
  guard let slot = unsafe user?.assumingMemoryBound(to: ClientHandle.self) else { return }
  if let own = unsafe slot.pointee.ownLog, level <= own.level.rawValue {
    unsafe own.function(own.user, level, what, number, other)
  }
  unsafe slot.pointee.observers.forEach { observer in
    if let log = unsafe observer.log, unsafe level <= observer.log_level {
      unsafe log(observer.user, level, what, number, other)
    }
  }
}

@_optimize(size)
private func tellAll(_ user: UnsafeMutableRawPointer?, _ parts: UnsafeRawPointer) {
  guard let slot = unsafe user?.assumingMemoryBound(to: ClientHandle.self) else { return }
  let parts = unsafe parts.assumingMemoryBound(to: PacketParts.self)
  unsafe slot.pointee.observers.forEach { observer in
    guard let tap = unsafe observer.packet else { return }
    let showsSecrets = unsafe observer.flags & UInt32(SMQ_OBSERVE_SECRETS) != 0
    unsafe tell(parts.pointee, to: tap, observer.user, showsSecrets: showsSecrets)
  }
}

/// For whom a trace is read.
@unsafe struct TraceReader: BitwiseCopyable {
  let tap: smq_tap
  let user: UnsafeMutableRawPointer?
}

func tellOfTrace(_ reader: UnsafeMutableRawPointer?, _ parts: UnsafeRawPointer) {
  guard let reader = unsafe reader?.assumingMemoryBound(to: TraceReader.self).pointee else { return }
  // A trace has no secrets.
  unsafe tell(
    parts.assumingMemoryBound(to: PacketParts.self).pointee, to: reader.tap, reader.user, showsSecrets: true)
}

private func tell(_ parts: PacketParts, to tap: smq_tap, _ user: UnsafeMutableRawPointer?, showsSecrets: Bool)
{
  guard unsafe !parts.secrets.areNone, !showsSecrets else {
    var packet = unsafe smq_packet(parts, data: parts.front, more: parts.payload)
    return unsafe tap(user, &packet)
  }
  unsafe tellMasked(parts, to: tap, user)
}

/// Out of line, because of its stack.
@inline(never)
@_optimize(size)
private func tellMasked(_ parts: PacketParts, to tap: smq_tap, _ user: UnsafeMutableRawPointer?) {
  var copy = InlineArray<1024, UInt8>(repeating: 0)
  var bytes = copy.mutableSpan
  let count = unsafe parts.copyMasked(into: &bytes)
  unsafe bytes.withUnsafeBytes { bytes in
    let data = unsafe UnsafeRawBufferPointer(rebasing: bytes[0..<count])
    var packet = unsafe smq_packet(parts, data: data, more: UnsafeRawBufferPointer(start: nil, count: 0))
    unsafe tap(user, &packet)
  }
}

extension smq_packet {
  fileprivate init(_ parts: PacketParts, data: UnsafeRawBufferPointer, more: UnsafeRawBufferPointer) {
    unsafe self.init()
    unsafe size = UInt32(truncatingIfNeeded: MemoryLayout<smq_packet>.size)
    unsafe direction = UInt32(parts.direction.rawValue)
    unsafe time_ms = parts.time.milliseconds
    unsafe type = UInt32(parts.type)
    unsafe length = UInt32(truncatingIfNeeded: parts.length)
    unsafe outbox_messages = UInt32(truncatingIfNeeded: parts.outbox.messages)
    unsafe in_flight = UInt32(truncatingIfNeeded: parts.outbox.inFlight)
    unsafe self.data = unsafe smq_bytes(data: data.baseAddress, size: data.count)
    unsafe self.more = unsafe smq_bytes(data: more.baseAddress, size: more.count)
  }
}
