/// The pieces of -F.
enum Format {
  /// The part between '%' and the letter.
  struct Field {
    var width = 0
    /// The maximum number of bytes; nil: all.
    var precision: Int?
    var isLeft = false
    var hasZeros = false
  }

  enum Piece {
    case text([UInt8])
    /// A letter of `Program.formatLetters`.
    case field(UInt8, Field)
    /// strftime(); 'N': nanoseconds.
    case time(UInt8)
  }

  static func parse(_ format: [UInt8]) throws(ExitError) -> [Piece] {
    var pieces: [Piece] = []
    var text: [UInt8] = []
    var rest = format[...]
    while let byte = rest.popFirst() {
      var piece: Piece?
      switch byte {
      case 37: piece = try field(&rest)  // %
      case 64: piece = try time(&rest)  // @
      case 92: piece = .text([try escape(&rest)])  // \
      default: text.append(byte)
      }
      if case .text(let more) = piece {
        text += more
      } else if let piece {
        if !text.isEmpty { pieces.append(.text(text)) }
        text = []
        pieces.append(piece)
      }
    }
    if !text.isEmpty { pieces.append(.text(text)) }
    return pieces
  }

  private static func field(_ rest: inout ArraySlice<[UInt8].Element>) throws(ExitError) -> Piece {
    var field = Field()
    if rest.first == 45 { field.isLeft = rest.popFirst() != nil }
    if rest.first == 48 { field.hasZeros = rest.popFirst() != nil }
    field.width = number(&rest) ?? 0
    if rest.first == 46 {
      rest.removeFirst()
      field.precision = number(&rest) ?? 0  // as printf() has it
    }
    guard let letter = rest.popFirst() else { throw usageError("-F: the format ends in the middle of a '%'") }
    if letter == 37 { return .text([37]) }
    guard Program.formatLetters.bytes.contains(letter) else {
      throw usageError("-F: unknown '%\([letter].printable)'")
    }
    return .field(letter, field)
  }

  private static func number(_ rest: inout ArraySlice<[UInt8].Element>) -> Int? {
    var value: Int?
    while let digit = rest.first, (48...57).contains(digit) {
      value = min((value ?? 0) * 10 + Int(digit - 48), 10_000)
      rest.removeFirst()
    }
    return value
  }

  private static func time(_ rest: inout ArraySlice<[UInt8].Element>) throws(ExitError) -> Piece {
    guard let letter = rest.popFirst() else { throw usageError("-F: the format ends in '@'") }
    return letter == 64 ? .text([64]) : .time(letter)
  }

  private static func escape(_ rest: inout ArraySlice<[UInt8].Element>) throws(ExitError) -> UInt8 {
    switch rest.popFirst() {
    case 92: return 92
    case 48: return 0  // \0
    case 97: return 7  // \a
    case 101: return 27  // \e
    case 110: return 10  // \n
    case 114: return 13  // \r
    case 116: return 9  // \t
    case 118: return 11  // \v
    case nil: throw usageError("-F: the format ends in '\\'")
    case let letter?: throw usageError("-F: unknown '\\\([letter].printable)'")
    }
  }
}

extension Format.Field {
  /// A text, no longer than the precision, padded to the width of the field.
  func cut(_ text: [UInt8]) -> [UInt8] {
    var blank = self
    blank.hasZeros = false
    return blank.pad(precision.map { Array(text.prefix($0)) } ?? text)
  }

  func pad(_ text: [UInt8]) -> [UInt8] {
    guard text.count < width else { return text }
    let filling = [UInt8](
      repeating: hasZeros && !isLeft ? 48 : 32, count: width - text.count)
    return isLeft ? text + filling : filling + text
  }

  /// As many whole bytes as fit into the width.
  func hexadecimal(_ payload: [UInt8], _ digits: StaticString) -> [UInt8] {
    let digits = digits.bytes
    let taken = width == 0 ? payload.count : min(payload.count, width / 2)
    var result: [UInt8] = []
    result.reserveCapacity(2 * taken)
    for byte in payload.prefix(taken) {
      result.append(digits[Int(byte >> 4)])
      result.append(digits[Int(byte & 15)])
    }
    return pad(result)
  }
}

extension System {
  /// %FT%T%z: date, time of day and zone, with a fraction before the zone.
  static func dateAndTime(_ seconds: Int64, _ between: [UInt8] = []) -> [UInt8] {
    time(70, seconds) + [84] + time(84, seconds) + between + time(122, seconds)
  }
}
