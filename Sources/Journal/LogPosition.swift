/// The position of a block in the log: in which lap around the ring it was written, and at which place of the
/// ring.
///
/// One number of 32 bits would be used up after 16 TiB, which a fast disk takes in a few weeks. Sums of the
/// two parts need no 64 bits (docs/decisions/0008).
public struct LogPosition: BitwiseCopyable, Equatable {
  public internal(set) var lap: UInt32
  public internal(set) var place: UInt32

  static var beginning: LogPosition { LogPosition(lap: 0, place: 0) }

  @_optimize(size)
  static func < (one: LogPosition, other: LogPosition) -> Bool {
    one.lap == other.lap ? one.place < other.place : one.lap < other.lap
  }
}

/// The ring of places in a file.
struct Ring: BitwiseCopyable {
  /// How many blocks it has, at least 1.
  let count: UInt32

  /// Returns the position `blocks` behind another; `blocks` is at most `count`.
  @_optimize(size)
  func advanced(_ position: LogPosition, by blocks: UInt32) -> LogPosition {
    let room = count &- position.place
    return blocks < room
      ? LogPosition(lap: position.lap, place: position.place &+ blocks)
      : LogPosition(lap: position.lap &+ 1, place: blocks &- room)
  }

  /// Returns the position `blocks` before another, or `nil` if the log begins behind it, or if that is more than
  /// a lap.
  @_optimize(size)
  func before(_ position: LogPosition, by blocks: UInt32) -> LogPosition? {
    guard blocks <= count else { return nil }
    if blocks <= position.place {
      return LogPosition(lap: position.lap, place: position.place &- blocks)
    }
    guard position.lap > 0 else { return nil }
    return LogPosition(lap: position.lap &- 1, place: count &- (blocks &- position.place))
  }

  /// Returns how many blocks lie from one position to a later one, if those are at most `count`.
  @_optimize(size)
  func distance(from start: LogPosition, to end: LogPosition) -> UInt32? {
    switch end.lap &- start.lap {
    case 0 where end.place >= start.place: end.place &- start.place
    case 1 where end.place <= start.place: count &- start.place &+ end.place
    default: nil
    }
  }
}
