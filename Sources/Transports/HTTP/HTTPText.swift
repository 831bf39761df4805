import Storage

/// What HTTP says about the characters of its fields (RFC 9110 section 5.6), and of a host.
enum HTTPText {
  static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  /// Returns whether `text` is `word`, which is in lower case, whatever the case of its letters.
  @inline(never)
  static func equals(_ text: Span<UInt8>, _ word: Span<UInt8>) -> Bool {
    text.count == word.count && begins(text, with: word)
  }

  @_optimize(size)
  static func begins(_ text: Span<UInt8>, with word: Span<UInt8>) -> Bool {
    guard text.count >= word.count else { return false }
    for index in 0..<word.count where lowercased(text[index]) != word[index] { return false }
    return true
  }

  @_optimize(size)
  static func isSame(_ text: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
    guard text.count == other.count else { return false }
    for index in 0..<text.count where text[index] != other[index] { return false }
    return true
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  /// Returns the text without blanks at its ends.
  @_lifetime(copy text)
  @_optimize(size)
  @inline(never)
  static func trimmed(_ text: Span<UInt8>) -> Span<UInt8> {
    var start = 0
    var end = text.count
    while start < end, isBlank(text[start]) { start &+= 1 }
    while start < end, isBlank(text[end &- 1]) { end &-= 1 }
    return text.extracting(start..<end)
  }

  /// Takes the first element from a list that commas separate, without the blanks around it.
  @_lifetime(copy list)
  @_lifetime(list: copy list)
  @_optimize(size)
  @inline(never)
  static func removeFirst(of list: inout Span<UInt8>) -> Span<UInt8> {
    var end = 0
    while end < list.count, list[end] != UInt8(ascii: ",") { end &+= 1 }
    let element = trimmed(list.extracting(first: end))
    list = list.extracting(droppingFirst: min(end &+ 1, list.count))
    return element
  }

  /// Returns whether a list has an element, which is in lower case, whatever the case of its letters.
  @_optimize(size)
  static func list(_ list: Span<UInt8>, contains word: StaticString) -> Bool {
    var rest = list
    while rest.count > 0 { if equals(removeFirst(of: &rest), word.bytes) { return true } }
    return false
  }

  /// RFC 9110 section 5.6.2.
  @_optimize(size)
  static func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "^")...UInt8(ascii: "z"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "!"),
      UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "|"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Returns whether a field may have this character in its value (RFC 9110 section 5.5).
  static func isFieldCharacter(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  /// Returns whether a request may name this host: nothing in it ends a line, or separates words.
  @_optimize(size)
  @inline(never)
  static func isValid(host: Span<UInt8>) -> Bool {
    for index in 0..<host.count where host[index] <= 0x20 || host[index] == 0x7F { return false }
    return host.count > 0
  }
}

extension RequestWriter {
  /// Writes a host, and its port unless it is `nil`. An IPv6 address gets its brackets, and loses its zone,
  /// which means something on this machine only (RFC 6874 section 1).
  @_lifetime(self: copy self)
  @_optimize(size)
  @inline(never)
  mutating func put(host: Span<UInt8>, port: UInt16?) {
    var end = 0
    var isIPv6 = false
    while end < host.count, host[end] != UInt8(ascii: "%") {
      if host[end] == UInt8(ascii: ":") { isIPv6 = true }
      end &+= 1
    }
    if isIPv6 { put(UInt8(ascii: "[")) }
    put(host.extracting(first: end))
    if isIPv6 { put(UInt8(ascii: "]")) }
    guard let port else { return }
    put(UInt8(ascii: ":"))
    put(decimal: port)
  }
}
