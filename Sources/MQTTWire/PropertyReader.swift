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
  ///
  /// Kept out of line: it would be a kilobyte in each of the packets that read properties. What it calls is
  /// inlined here, except for what is rare.
  @inline(never)
  public mutating func next() throws(Malformed) -> Property? {
    guard !reader.isAtEnd else { return nil }
    let (identifier, rule) = try reader.identifier(in: context)
    try markSeen(identifier)

    guard rule.type.isNumber else {
      // One loop, and so one text of the checks, for both strings of a pair.
      var (text, value) = (ByteRange.empty, ByteRange.empty)
      var isPair = rule.type == .stringPair
      while true {
        value = try reader.binaryData(isText: rule.type != .binaryData)
        guard isPair else { break }
        (text, isPair) = (value, false)
      }
      if rule.type != .stringPair { (text, value) = (value, .empty) }
      return Property(identifier: identifier, number: 0, text: text, value: value)
    }
    let number = try reader.number(rule.type)
    guard rule.values.contains(number) else { throw .propertyValue }
    return Property(identifier: identifier, number: number, text: .empty, value: .empty)
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
    let (identifier, rule) = try reader.identifier(in: context.bit)
    guard rule.type.isNumber else { return (identifier, 0, rule.type == .stringPair ? 2 : 1) }
    let number = try reader.number(rule.type)
    guard rule.values.contains(number) else { throw .propertyValue }
    return (identifier, number, 0)
  }

  /// Marks a property as seen.
  @inline(__always)
  private mutating func markSeen(_ identifier: PropertyIdentifier) throws(Malformed) {
    let number = identifier.rawValue
    let bit: UInt32 = 1 << UInt32(number & 31)
    if (number < 32 ? seen.0 : seen.1) & bit != 0 {
      guard isRepeatable(identifier) else { throw .propertyRepeated }
    }
    if number < 32 { seen.0 |= bit } else { seen.1 |= bit }
  }

  /// Only User Property may be repeated, and Subscription Identifier in a PUBLISH from a server
  /// (§3.3.2.3.8).
  @inline(never)  // asked only where one is repeated
  private func isRepeatable(_ identifier: PropertyIdentifier) -> Bool {
    identifier == .userProperty || context == PropertyContext.anywhere.bit
      || (identifier == .subscriptionIdentifier
        && context == PropertyContext.packet(.publish, from: .server).bit)
  }
}

extension ByteReader {
  /// Reads the identifier of a property that is allowed in one of these contexts. No identifier of the
  /// specification needs more than one byte.
  @inline(__always)
  fileprivate mutating func identifier(
    in contexts: UInt32
  ) throws(Malformed) -> (PropertyIdentifier, PropertyRule) {
    let identifier = try byte()
    let rule = PropertyRule.of(identifier)
    guard rule.contexts & contexts != 0 else {
      throw rule.contexts == 0 ? .unknownProperty : .propertyNotAllowed
    }
    return (PropertyIdentifier(known: identifier), rule)
  }

  /// Reads a value that is a number.
  @inline(__always)
  fileprivate mutating func number(_ type: PropertyType) throws(Malformed) -> UInt32 {
    switch type {
    case .byte: UInt32(try byte())
    case .twoByteInteger: UInt32(try uint16())
    case .fourByteInteger: try uint32()
    default: UInt32(truncatingIfNeeded: try variableByteInteger())
    }
  }
}
