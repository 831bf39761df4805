public import Storage

/// The header lines of a frame, one after the other. Values are as they came: with their escapes.
public struct HeaderReader: ~Escapable {
  private let lines: Span<UInt8>
  private let strips: Bool
  /// Where the next line begins.
  public private(set) var position: Int

  /// As byte ranges of the lines.
  public struct Header: BitwiseCopyable {
    public let name: ByteRange
    public let value: ByteRange
  }

  /// `lines` are those of `ServerFrame.headers`. `position` is 0, or that of another reader of the same lines.
  @_lifetime(copy lines)
  public init(_ lines: Span<UInt8>, _ frame: ServerFrame, _ version: STOMPVersion, from position: Int = 0) {
    self.lines = lines
    strips = version.hasCarriageReturns || frame.command == .connected
    self.position = position
  }

  @_lifetime(self: copy self)
  public mutating func next() -> Header? {
    guard position < lines.count else { return nil }
    let start = position
    let end = ByteSearch.firstIndex(of: lineFeed, in: lines, from: start)
    position = end &+ 1
    let last = strips && end > start && lines[end &- 1] == carriageReturn ? end &- 1 : end
    let colon = min(last, ByteSearch.firstIndex(of: UInt8(ascii: ":"), in: lines, from: start))
    let first = min(last, colon &+ 1)
    return Header(
      name: ByteRange(offset: start, count: colon &- start),
      value: ByteRange(offset: first, count: last &- first))
  }
}
