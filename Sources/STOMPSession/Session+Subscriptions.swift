import STOMPWire
import Storage

/// SUBSCRIBE and UNSUBSCRIBE. A call that throws has changed nothing.
extension STOMPSession {
  /// Returns the slot. The subscription is made again on each connection, until `unsubscribe`.
  public mutating func subscribe(
    to destination: Span<UInt8>, _ mode: AckMode, headers: Span<UInt8>, cookie: UInt64
  ) throws(STOMPError) -> Int {
    guard !isLeaving else { throw .leaving }
    guard destination.count | headers.count < Self.tooManyBytes else { throw .tooLarge }
    guard destination.count > 0, HeaderText.isValid(destination, version, isName: false) else {
      throw .destination
    }
    guard mode != .individual || (phase == .up ? version : newest).hasNack else { throw .version }
    guard HeaderList.isValid(headers, version) else { throw .header }
    guard let slot = subscriptions.firstFree else { throw .full }
    var size = FrameSize(version)
    let number = subscriptions.nextNumber(of: slot)
    Self.describe(to: &size, destination, mode, headers, slot, number)
    guard size.count <= subscriptions.frameBytes else { throw .tooLarge }
    let version = version
    var writer = FrameWriter(subscriptions.space(of: slot), version)
    Self.describe(to: &writer, destination, mode, headers, slot, number)
    let dialect = writer.dialect
    subscriptions.add(slot, mode, dialect, size: size.count, cookie: cookie)
    return slot
  }

  private static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ destination: Span<UInt8>, _ mode: AckMode, _ headers: Span<UInt8>,
    _ slot: Int, _ number: UInt32
  ) {
    output.begin(.subscribe)
    output.header("id", UInt32(truncatingIfNeeded: slot))
    output.header("destination", destination)
    output.header("ack", mode.name)
    output.header("receipt", letter: Receipt.subscriptionLetter, number)
    output.headers(headers)
    output.end()
  }

  /// What waits for `acknowledge` of this subscription can't be acknowledged any more. With headers (`HeaderList`), by which a
  /// server ends a durable subscription, UNSUBSCRIBE is sent even if SUBSCRIBE was not.
  public mutating func unsubscribe(_ slot: Int, headers: Span<UInt8>, cookie: UInt64) throws(STOMPError) {
    guard !isLeaving else { throw .leaving }
    guard headers.count < Self.tooManyBytes else { throw .tooLarge }
    guard HeaderList.isValid(headers, version) else { throw .header }
    guard subscriptions.isUsed(slot), subscriptions[slot].state != .unwanted,
      subscriptions[slot].state != .leaving
    else { throw .subscription }
    // Its frame is on its way.
    guard sending.source != .subscription || sending.slot != slot else { throw .state }
    var size = FrameSize(version)
    let number = subscriptions.nextNumber(of: slot)
    Self.describeUnsubscribe(to: &size, headers, slot, number)
    guard size.count <= subscriptions.frameBytes else { throw .tooLarge }
    let version = version
    var writer = FrameWriter(subscriptions.space(of: slot), version)
    Self.describeUnsubscribe(to: &writer, headers, slot, number)
    let dialect = writer.dialect
    subscriptions.remove(slot, dialect, size: size.count, cookie: cookie, hasHeaders: headers.count > 0)
    held.subscriptionEnds(slot)
    unblock()
  }

  private static func describeUnsubscribe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ headers: Span<UInt8>, _ slot: Int, _ number: UInt32
  ) {
    output.begin(.unsubscribe)
    output.header("id", UInt32(truncatingIfNeeded: slot))
    output.header("receipt", letter: Receipt.subscriptionLetter, number)
    output.headers(headers)
    output.end()
  }
}
