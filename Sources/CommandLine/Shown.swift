// How foreign text is shown to people: it must neither control their terminal nor reveal a password.

extension [UInt8] {
  /// For an error text, wherever it goes: control characters and invalid UTF-8 become \xNN, byte by byte.
  var escaped: [UInt8] { shown { _ in false } }

  /// The same for a word of the command line, which may contain user name and password: they become three dots.
  var printable: [UInt8] { withoutLogin.escaped }

  /// For a terminal, where newlines and tabs of a payload stay.
  var onTerminal: [UInt8] { shown { $0 == 10 || $0 == 9 } }

  var isUTF8: Bool {
    var index = 0
    while index < count {
      let size = scalarSize(at: index)
      if size == 0 { return false }
      index += size
    }
    return true
  }

  /// Without control characters (C0, DEL and C1) except those that are kept.
  private func shown(keeping isKept: (UInt8) -> Bool) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    var index = 0
    while index < count {
      let size = scalarSize(at: index)
      if size > 1 && !(self[index] == 0xC2 && self[index + 1] < 0xA0) {
        result += self[index..<index + size]
      } else if size == 1 && (self[index] >= 32 && self[index] != 127 || isKept(self[index])) {
        result.append(self[index])
      } else {
        for byte in self[index..<index + Swift.max(size, 1)] {
          result += [92, 120, hexadecimalDigit(byte >> 4), hexadecimalDigit(byte & 15)]
        }
      }
      index += Swift.max(size, 1)
    }
    return result
  }

  /// The number of bytes of a UTF-8 character (RFC 3629, section 4); 0 if it is invalid.
  private func scalarSize(at index: Int) -> Int {
    let first = self[index]
    let size: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0..<0x80: return 1
    case 0xC2...0xDF: size = 2
    case 0xE0...0xEF: size = 3
    case 0xF0...0xF4: size = 4
    default: return 0
    }
    switch first {
    case 0xE0: second = 0xA0...0xBF
    case 0xED: second = 0x80...0x9F
    case 0xF0: second = 0x90...0xBF
    case 0xF4: second = 0x80...0x8F
    default: break
    }
    guard index + size <= count && second.contains(self[index + 1]) else { return 0 }
    for offset in 2..<Swift.max(size, 2) where self[index + offset] & 0xC0 != 0x80 { return 0 }
    return size
  }

  /// A URL may be in the wrong place, and NAME:PASSWORD@HOST may have no mqtt:// in front.
  private var withoutLogin: [UInt8] {
    let start = authority ?? 0
    let rest = self[start...]
    guard let at = rest.lastIndex(of: 64) else { return withoutHalfALogin }
    return rest[..<at].contains(58) ? self[..<start] + ascii("...") + self[at...] : self
  }

  /// mqtt://NAME:PASSWORD without the rest: what is in its place is not a port.
  private var withoutHalfALogin: [UInt8] {
    guard let start = authority, self[start...].first != 91, let colon = self[start...].firstIndex(of: 58)
    else { return self }
    let isPort = self[(colon + 1)...].prefix { $0 != 47 && $0 != 44 }.allSatisfy { (48...57).contains($0) }
    return isPort ? self : self[...colon] + ascii("...")
  }

  /// The part after "://".
  private var authority: Int? {
    indices.dropLast(2).first { self[$0] == 58 && self[$0 + 1] == 47 && self[$0 + 2] == 47 }.map { $0 + 3 }
  }
}

func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
