/// What was typed.
enum TypedKey: Equatable {
  case character(UInt8)
  case enter, escape, backspace
  case up, down, left, right, pageUp, pageDown, home, end
}

/// Makes keys of the bytes that a terminal sends.
struct Keys {
  /// What follows ESC and '[', or 'O'.
  private static let sequences: [(sequence: StaticString, key: TypedKey)] = [
    ("A", .up), ("B", .down), ("C", .right), ("D", .left), ("H", .home), ("F", .end), ("1~", .home),
    ("4~", .end), ("5~", .pageUp), ("6~", .pageDown), ("7~", .home), ("8~", .end),
  ]

  /// What was read at once: a terminal sends a sequence in one piece, and a person types ESC alone.
  static func keys(in bytes: [UInt8]) -> [TypedKey] {
    var keys: [TypedKey] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case 27:
        if rest.first == 91 || rest.first == 79 {
          rest.removeFirst()
          if let key = sequence(&rest) { keys.append(key) }
        } else {
          keys.append(.escape)
        }
      case 10, 13: keys.append(.enter)
      case 8, 127: keys.append(.backspace)
      case 32...: keys.append(.character(byte))
      default: break
      }
    }
    return keys
  }

  /// `nil`: it is of no key that is used. It ends with the first byte that is neither a digit nor ';' (ECMA-48, 5.4).
  private static func sequence(_ rest: inout ArraySlice<UInt8>) -> TypedKey? {
    var found: [UInt8] = []
    while let byte = rest.popFirst() {
      found.append(byte)
      if !(48...59).contains(byte) { break }
    }
    return sequences.first { found == $0.sequence }?.key
  }
}
