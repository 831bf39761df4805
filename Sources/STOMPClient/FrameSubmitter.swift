import Journal
public import Platform
public import STOMPSession
import STOMPWire
public import Storage

/// The header of a submitted frame. Its destination, content type, headers and body lie behind one another in its slot.
public struct FrameSubmission: BitwiseCopyable {
  let cookie: UInt64
  let destinationSize: UInt32
  let contentTypeSize: UInt32
  let headersSize: UInt32
  let bodySize: UInt32
  private let bits: UInt8

  init(_ frame: borrowing OutgoingFrame) {
    cookie = frame.cookie
    destinationSize = UInt32(truncatingIfNeeded: frame.destination.count)
    contentTypeSize = UInt32(truncatingIfNeeded: frame.contentType.count)
    headersSize = UInt32(truncatingIfNeeded: frame.headers.count)
    bodySize = UInt32(truncatingIfNeeded: frame.body.count)
    bits =
      (frame.wantsReceipt ? 1 : 0) | (frame.isRepeatable ? 2 : 0) | (frame.isQuiet ? 4 : 0)
      | (frame.omitsLength ? 8 : 0) | (frame.isUrgent ? 16 : 0) | frame.overflow.rawValue << 5
      | (frame.isStored ? 128 : 0)
  }

  /// `bytes` are those of its slot.
  @_lifetime(copy bytes)
  func frame(in bytes: Span<UInt8>) -> OutgoingFrame {
    let contentType = Int(truncatingIfNeeded: destinationSize)
    let headers = contentType &+ Int(truncatingIfNeeded: contentTypeSize)
    let body = headers &+ Int(truncatingIfNeeded: headersSize)
    let end = body &+ Int(truncatingIfNeeded: bodySize)
    var frame = OutgoingFrame(
      destination: bytes.extracting(0..<contentType), contentType: bytes.extracting(contentType..<headers),
      headers: bytes.extracting(headers..<body), body: bytes.extracting(body..<end))
    frame.cookie = cookie
    frame.wantsReceipt = bits & 1 != 0
    frame.isRepeatable = bits & 2 != 0
    frame.isQuiet = bits & 4 != 0
    frame.omitsLength = bits & 8 != 0
    frame.isUrgent = bits & 16 != 0
    frame.overflow = Overflow(rawValue: bits >> 5 & 3) ?? .refuse
    frame.isStored = bits & 128 != 0
    return frame
  }
}

/// Submits frames of threads that do not own the client. Nothing in it changes but the queue, and it touches nothing else
/// of the client.
public struct FrameSubmitter: BitwiseCopyable {
  private let queue: MPSCQueue<FrameSubmission>
  private let wakeUp: WakeUp
  /// The newest version that is offered. The server may choose an older one.
  private let version: STOMPVersion
  private let outboxBytes: Int
  private let urgentBytes: Int
  /// The largest frame that the journal takes; 0: there is none.
  private let storedBytes: Int

  public init(
    _ options: borrowing STOMPClientOptions, queue: MPSCQueue<FrameSubmission>, wakeUp: WakeUp
  ) {
    self.queue = queue
    self.wakeUp = wakeUp
    version = options.session.newest
    outboxBytes = options.session.outboxBytes
    urgentBytes = options.session.urgentBytes
    storedBytes =
      options.session.journalBatchBytes > 0
      ? FrameRecord.largestFrame(batchBytes: options.session.journalBatchBytes) : 0
  }

  /// Without it there is no queue.
  public var isOpen: Bool { queue.isOpen }

  public var hasUrgent: Bool { urgentBytes > 0 }
  public var hasJournal: Bool { storedBytes > 0 }

  /// Puts a frame into the queue, or changes nothing.
  public func submit(_ frame: borrowing OutgoingFrame) throws(STOMPError) {
    let all =
      frame.destination.count | frame.contentType.count | frame.headers.count | frame.body.count
    guard all <= queue.slotSize else { throw .tooLarge }
    guard frame.transaction == 0 else { throw .transaction }
    // A receipt's number is not known yet: that of the longest one.
    let size = try frame.size(version, number: .max)
    guard size <= (frame.isUrgent ? urgentBytes : outboxBytes), !frame.isStored || size <= storedBytes,
      frame.destination.count &+ frame.contentType.count &+ frame.headers.count &+ frame.body.count
        <= queue.slotSize
    else { throw .tooLarge }
    let (destination, contentType) = (frame.destination, frame.contentType)
    let (headers, body) = (frame.headers, frame.body)
    let outcome = queue.put(FrameSubmission(frame)) { space in
      copy(destination, into: &space)
      var types = space._mutatingExtracting(destination.count...)
      copy(contentType, into: &types)
      var lists = types._mutatingExtracting(contentType.count...)
      copy(headers, into: &lists)
      var end = lists._mutatingExtracting(headers.count...)
      copy(body, into: &end)
    }
    guard case .put(let found) = outcome else { throw .full }
    queue.wakeOwner(for: found) { wakeUp.send() }
  }
}
