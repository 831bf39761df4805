public import Storage

/// Reads the properties of a received packet one by one, and checks each against Table 2-4: known,
/// allowed in this packet, not repeated, value in range, strings well-formed.
public struct PropertyReader: ~Escapable {
  private var reader: ByteReader
  private let context: UInt32  // its `bit`
  /// The whole list, without its length.
  public let extent: ByteRange
  // One bit for each identifier seen so far: 0…31 and 32…63.
  private var seen: (UInt32, UInt32) = (0, 0)

  /// Reads the Property Length and the properties from `reader`, which moves on behind them.
  @_lifetime(copy bytes)
  public init(
    _ bytes: Span<UInt8>, reader: inout ByteReader, in context: PropertyContext
  ) throws(Malformed) {
    let length = try reader.variableByteInteger()
    extent = try reader.extent(length)
    self.reader = ByteReader(bytes, in: extent)
    self.context = context.bit
  }

  /// Reads a list without its length: one that an application supplies, or one that was checked before.
  @_lifetime(copy list)
  public init(_ list: Span<UInt8>, in context: PropertyContext) {
    reader = ByteReader(list)
    extent = ByteRange(offset: 0, count: list.count)
    self.context = context.bit
  }

  /// Where the next property begins.
  public var position: Int { reader.position }

  /// Returns the next property, or `nil` after the last.
  @inline(never)  // three kilobytes in each of the packets that read properties
  public mutating func next() throws(Malformed) -> Property? {
    guard !reader.isAtEnd else { return nil }
    // No identifier of the specification needs more than one byte.
    guard let identifier = PropertyIdentifier(rawValue: try reader.byte()) else {
      throw .unknownProperty
    }
    let rule = PropertyRule.of(identifier)
    guard rule.contexts & context != 0 else { throw .propertyNotAllowed }
    try markSeen(identifier)

    var number: UInt32 = 0
    var text = ByteRange.empty
    var value = ByteRange.empty
    switch rule.type {
    case .byte: number = UInt32(try reader.byte())
    case .twoByteInteger: number = UInt32(try reader.uint16())
    case .fourByteInteger: number = try reader.uint32()
    case .variableByteInteger: number = UInt32(try reader.variableByteInteger())
    case .string: text = try reader.string()
    case .binaryData: text = try reader.binaryData()
    case .stringPair:
      text = try reader.string()
      value = try reader.string()
    }
    guard number >= rule.minimum, number <= rule.maximum else { throw .propertyValue }
    return Property(identifier: identifier, number: number, text: text, value: value)
  }

  /// Returns whether a packet may have a list, given without its length, and whether the list has none of
  /// the properties that the library sets itself.
  public static func isValid(
    _ list: Span<UInt8>, in context: PropertyContext, without own: PropertyIdentifier? = nil,
    _ other: PropertyIdentifier? = nil
  ) -> Bool {
    var reader = PropertyReader(list, in: context)
    do throws(Malformed) {
      while let property = try reader.next() {
        if property.identifier == own || property.identifier == other { return false }
      }
      return true
    } catch {
      return false
    }
  }

  /// Reads the beginning of a property that is not wholly there: identifier and number, or how many strings
  /// follow. Repetitions are not noticed.
  public static func begin(
    _ reader: inout ByteReader, in context: PropertyContext
  ) throws(Malformed) -> (identifier: PropertyIdentifier, number: UInt32, strings: Int) {
    guard let identifier = PropertyIdentifier(rawValue: try reader.byte()) else {
      throw .unknownProperty
    }
    let rule = PropertyRule.of(identifier)
    guard rule.contexts & context.bit != 0 else { throw .propertyNotAllowed }
    let number: UInt32
    switch rule.type {
    case .byte: number = UInt32(try reader.byte())
    case .twoByteInteger: number = UInt32(try reader.uint16())
    case .fourByteInteger: number = try reader.uint32()
    case .variableByteInteger: number = UInt32(try reader.variableByteInteger())
    case .string, .binaryData: return (identifier, 0, 1)
    case .stringPair: return (identifier, 0, 2)
    }
    guard number >= rule.minimum, number <= rule.maximum else { throw .propertyValue }
    return (identifier, number, 0)
  }

  /// Marks a property as seen. Only User Property may be repeated, and Subscription Identifier in a PUBLISH
  /// from a server (§3.3.2.3.8).
  private mutating func markSeen(_ identifier: PropertyIdentifier) throws(Malformed) {
    let number = identifier.rawValue
    let bit: UInt32 = 1 << UInt32(number & 31)
    if (number < 32 ? seen.0 : seen.1) & bit != 0 {
      let isRepeatable =
        identifier == .userProperty || context == PropertyContext.anywhere.bit
        || (identifier == .subscriptionIdentifier
          && context == PropertyContext.packet(.publish, from: .server).bit)
      guard isRepeatable else { throw .propertyRepeated }
    }
    if number < 32 { seen.0 |= bit } else { seen.1 |= bit }
  }
}
