// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 2, 5, 6, 7, and sst_submit() of chapter 12: headers, and what a program wants of the server.

import CInterface
public import CSwiftSTOMP
import Driver
import STOMPClient
import STOMPSession
import STOMPWire
import Storage

// MARK: 2  Headers

@c @implementation
public func sst_header_put(
  _ list: UnsafeMutablePointer<sst_headers>?, _ name: UnsafePointer<sst_bytes>?,
  _ value: UnsafePointer<sst_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard let list = unsafe list, let data = unsafe list.pointee.data, let name = unsafe name,
      let value = unsafe value
    else { throw .null }
    let (nameSpan, valueSpan) = (try unsafe span(name.pointee), try unsafe span(value.pointee))
    guard HeaderList.canHave(nameSpan, valueSpan) else { throw .header }
    let (used, capacity) = unsafe (list.pointee.size, list.pointee.capacity)
    let size = 4 + nameSpan.count + valueSpan.count
    guard used >= 0, used <= capacity, capacity - used >= size else { throw .full }
    let start = unsafe (data + used).assumingMemoryBound(to: UInt8.self)
    var room = unsafe MutableSpan(_unsafeStart: start, count: size)
    HeaderList.append(nameSpan, valueSpan, to: &room)
    unsafe list.pointee.size = used + size
    return Status.ok.rawValue
  }
}

// MARK: 5  Send

@_optimize(speed)
@c @implementation
public func sst_send(_ client: OpaquePointer?, _ frame: UnsafePointer<sst_frame>?) -> Int32 {
  guard let handle = unsafe client, let frame = unsafe frame, unsafe isPlain(frame),
    let destination = unsafe frame.pointee.destination.data, let body = unsafe frame.pointee.body.data,
    unsafe UInt(bitPattern: frame.pointee.destination.size | frame.pointee.body.size)
      < UInt(bitPattern: STOMPSession.tooManyBytes)
  else { return unsafe sendAny(client, frame) }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
  guard unsafe slot.pointee.magic == ClientHandle.liveMagic,
    unsafe slot.pointee.client.sendPlain(
      to: Span(
        _unsafeStart: destination.assumingMemoryBound(to: UInt8.self), count: frame.pointee.destination.size),
      Span(_unsafeStart: body.assumingMemoryBound(to: UInt8.self), count: frame.pointee.body.size),
      isQuiet: frame.pointee.flags != 0, cookie: frame.pointee.cookie)
  else { return unsafe sendAny(handle, frame) }
  return Status.ok.rawValue
}

/// Whether a frame consists of a destination and a body alone, with no flag but SST_SEND_QUIET. All others, and those that are
/// wrong, are for `sendAny`.
@inline(__always)
private func isPlain(_ frame: UnsafePointer<sst_frame>) -> Bool {
  unsafe frame.pointee.size == UInt32(MemoryLayout<sst_frame>.size)
    && frame.pointee.flags & ~UInt32(SST_SEND_QUIET) == 0
    && frame.pointee.content_type.size | frame.pointee.headers.size == 0
    && frame.pointee.transaction | frame.pointee.overflow == 0
}

@inline(never)
private func sendAny(_ client: OpaquePointer?, _ frame: UnsafePointer<sst_frame>?) -> Int32 {
  status { () throws(Status) in
    guard let frame = unsafe frame else { throw .null }
    let slot = try unsafe slot(client)
    let outgoing = try unsafe outgoing(frame)
    guard unsafe !outgoing.isUrgent || slot.pointee.client.engine.session.hasUrgent else { throw .option }
    do throws(STOMPError) {
      return try unsafe slot.pointee.client.send(outgoing) ? Status.ok.rawValue : Int32(SST_DROPPED)
    } catch {
      throw Status(error)
    }
  }
}

// MARK: 12  Other threads

@c @implementation
public func sst_submit(_ client: OpaquePointer?, _ frame: UnsafePointer<sst_frame>?) -> Int32 {
  status { () throws(Status) in
    guard let frame = unsafe frame else { throw .null }
    let slot = try unsafe slot(client)
    let outgoing = try unsafe outgoing(frame)
    // Only the submitter is read here: the client belongs to its owner.
    let submitter = unsafe slot.pointee.submitter
    guard submitter.isOpen, submitter.hasUrgent || !outgoing.isUrgent else { throw .notSupported }
    guard submitter.hasJournal || !outgoing.isStored else { throw .journal }
    do throws(STOMPError) {
      try submitter.submit(outgoing)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

/// The caller guarantees that `frame` points to as many bytes as its size field says.
@inline(__always)
@_lifetime(immortal)
private func outgoing(_ frame: UnsafePointer<sst_frame>) throws(Status) -> OutgoingFrame {
  try unsafe checkSize(frame, frame.pointee.size, known: MemoryLayout<sst_frame>.size)
  let flags = unsafe frame.pointee.flags
  // They are the lowest six bits.
  guard flags < 2 * UInt32(SST_SEND_STORE),
    let overflow = unsafe Overflow(rawValue: UInt8(clamping: frame.pointee.overflow))
  else { throw .option }
  var outgoing = OutgoingFrame(
    destination: try unsafe span(frame.pointee.destination),
    contentType: try unsafe span(frame.pointee.content_type),
    headers: try unsafe span(frame.pointee.headers), body: try unsafe span(frame.pointee.body))
  unsafe outgoing.cookie = frame.pointee.cookie
  outgoing.wantsReceipt = flags & UInt32(SST_SEND_RECEIPT) != 0
  outgoing.isRepeatable = flags & UInt32(SST_SEND_AGAIN) != 0
  outgoing.isQuiet = flags & UInt32(SST_SEND_QUIET) != 0
  outgoing.omitsLength = flags & UInt32(SST_SEND_NO_LENGTH) != 0
  outgoing.isUrgent = flags & UInt32(SST_SEND_URGENT) != 0
  outgoing.isStored = flags & UInt32(SST_SEND_STORE) != 0
  if outgoing.isStored { (outgoing.wantsReceipt, outgoing.isRepeatable) = (true, true) }
  outgoing.overflow = overflow
  outgoing.transaction = try unsafe transaction(frame.pointee.transaction)
  // The frames of a transaction go in their order, all of them or none.
  guard outgoing.transaction == 0 || !outgoing.isRepeatable && !outgoing.isUrgent && overflow == .refuse,
    !outgoing.isRepeatable || outgoing.wantsReceipt,
    !outgoing.isStored || !outgoing.isUrgent && overflow == .refuse
  else { throw .option }
  return outgoing
}

/// The number of a transaction has 16 bits, so there is none with a larger one.
private func transaction(_ number: UInt32) throws(Status) -> UInt16 {
  guard let number = UInt16(exactly: number) else { throw .transaction }
  return number
}

// MARK: 6  Subscribe and acknowledge

@c @implementation
public func sst_subscribe(
  _ client: OpaquePointer?, _ subscription: UnsafePointer<sst_subscription>?
) -> Int32 {
  status { () throws(Status) in
    guard let subscription = unsafe subscription else { throw .null }
    let slot = try unsafe slot(client)
    try unsafe checkSize(
      subscription, subscription.pointee.size, known: MemoryLayout<sst_subscription>.size)
    let destination = try unsafe span(subscription.pointee.destination)
    let headers = try unsafe span(subscription.pointee.headers)
    guard let mode = unsafe AckMode(rawValue: UInt8(clamping: subscription.pointee.ack)) else {
      throw .option
    }
    do throws(STOMPError) {
      return Int32(
        truncatingIfNeeded: try unsafe slot.pointee.client.subscribe(
          to: destination, mode, headers: headers, cookie: subscription.pointee.cookie))
    } catch {
      throw Status(error)
    }
  }
}

@c @implementation
public func sst_unsubscribe(_ client: OpaquePointer?, _ subscription: UInt32, _ cookie: UInt64) -> Int32 {
  var none = unsafe sst_bytes()
  return unsafe sst_unsubscribe_with(client, subscription, &none, cookie)
}

@c @implementation
public func sst_unsubscribe_with(
  _ client: OpaquePointer?, _ subscription: UInt32, _ headers: UnsafePointer<sst_bytes>?, _ cookie: UInt64
) -> Int32 {
  status { () throws(Status) in
    guard let headers = unsafe headers else { throw .null }
    let slot = try unsafe slot(client)
    let list = try unsafe span(headers.pointee)
    guard let number = UInt16(exactly: subscription) else { throw .subscription }
    do throws(STOMPError) {
      try unsafe slot.pointee.client.unsubscribe(Int(number), headers: list, cookie: cookie)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_ack(_ client: OpaquePointer?, _ token: UInt64, _ transaction: UInt32) -> Int32 {
  unsafe acknowledge(client, token, transaction, isAccepted: true)
}

@c @implementation
public func sst_ack_with(
  _ client: OpaquePointer?, _ token: UInt64, _ headers: UnsafePointer<sst_bytes>?, _ transaction: UInt32
) -> Int32 {
  unsafe acknowledge(client, token, headers, transaction, isAccepted: true)
}

@c @implementation
public func sst_nack(_ client: OpaquePointer?, _ token: UInt64, _ transaction: UInt32) -> Int32 {
  unsafe acknowledge(client, token, transaction, isAccepted: false)
}

@c @implementation
public func sst_nack_with(
  _ client: OpaquePointer?, _ token: UInt64, _ headers: UnsafePointer<sst_bytes>?, _ transaction: UInt32
) -> Int32 {
  unsafe acknowledge(client, token, headers, transaction, isAccepted: false)
}

private func acknowledge(
  _ client: OpaquePointer?, _ token: UInt64, _ transaction: UInt32, isAccepted: Bool
) -> Int32 {
  var none = unsafe sst_bytes()
  return unsafe acknowledge(client, token, &none, transaction, isAccepted: isAccepted)
}

private func acknowledge(
  _ client: OpaquePointer?, _ token: UInt64, _ headers: UnsafePointer<sst_bytes>?, _ number: UInt32,
  isAccepted: Bool
) -> Int32 {
  status { () throws(Status) in
    guard let headers = unsafe headers else { throw .null }
    let slot = try unsafe slot(client)
    let list = try unsafe span(headers.pointee)
    let number = try transaction(number)
    do throws(STOMPError) {
      try unsafe slot.pointee.client.acknowledge(
        token, isAccepted: isAccepted, headers: list, transaction: number)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

// MARK: 7  Transactions

@c @implementation
public func sst_begin(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    do throws(STOMPError) {
      return Int32(try unsafe slot.pointee.client.begin())
    } catch {
      throw Status(error)
    }
  }
}

@c @implementation
public func sst_commit(_ client: OpaquePointer?, _ transaction: UInt32, _ cookie: UInt64) -> Int32 {
  unsafe end(client, transaction, cookie, commits: true)
}

@c @implementation
public func sst_abort(_ client: OpaquePointer?, _ transaction: UInt32, _ cookie: UInt64) -> Int32 {
  unsafe end(client, transaction, cookie, commits: false)
}

private func end(_ client: OpaquePointer?, _ number: UInt32, _ cookie: UInt64, commits: Bool) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let number = try transaction(number)
    do throws(STOMPError) {
      if commits {
        try unsafe slot.pointee.client.commit(number, cookie: cookie)
      } else {
        try unsafe slot.pointee.client.abort(number, cookie: cookie)
      }
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}
