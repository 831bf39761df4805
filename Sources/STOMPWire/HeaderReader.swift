public import Storage

/// The headers of a frame of the server, one after the other: as they came, or as `ServerFrame.undoEscapes` has left them.
public struct HeaderReader: ~Escapable {
  private let lines: Span<UInt8>
  private let strips: Bool
  /// Where the next one begins.
  public private(set) var position: Int

  /// As byte ranges of the lines.
  public struct Header: BitwiseCopyable {
    public let name: ByteRange
    public let value: ByteRange
  }

  /// `lines` are those of `ServerFrame.headers`. `position` is 0, or that of another reader of the same lines.
  @_lifetime(copy lines)
  public init(_ lines: Span<UInt8>, strips: Bool, from position: Int = 0) {
    self.lines = lines
    self.strips = strips
    self.position = position
  }

  /// Whether a carriage return at the end of a line belongs to that end. Before CONNECTED, and in ERROR in place of it, nobody
  /// knows which version the server has.
  public static func strips(_ command: ServerCommand, _ version: STOMPVersion) -> Bool {
    version.hasCarriageReturns || command == .connected || command == .error
  }

  /// `nil`: there is no further one, or what is left is none.
  @_lifetime(self: copy self)
  public mutating func next() -> Header? {
    guard position >= 0, position < lines.count else { return nil }
    let isRaw = lines[lines.count &- 1] == lineFeed
    let start = position
    let colon = ByteSearch.firstIndex(of: isRaw ? UInt8(ascii: ":") : 0, in: lines, from: start)
    guard colon < lines.count else { return nil }
    let end = ByteSearch.firstIndex(of: isRaw ? lineFeed : 0, in: lines, from: colon &+ 1)
    guard end < lines.count else { return nil }
    position = end &+ 1
    let hasReturn = isRaw && strips && end > colon &+ 1 && lines[end &- 1] == carriageReturn
    return Header(
      name: ByteRange(offset: start, count: colon &- start),
      value: ByteRange(offset: colon &+ 1, count: end &- colon &- 1 &- (hasReturn ? 1 : 0)))
  }
}
