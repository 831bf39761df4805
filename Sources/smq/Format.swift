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
    /// A letter of `letters`.
    case field(UInt8, Field)
    /// strftime(); 'N': nanoseconds.
    case time(UInt8)
  }

  private static let letters: StaticString = "ACDEFIJPRSUXjlmpqrtx"

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
    guard letters.bytes.contains(letter) else {
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
