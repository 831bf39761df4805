import CMosquitto

/// A literal ends with a zero and lives as long as the library.
func text(_ literal: StaticString) -> UnsafePointer<CChar> {
  unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// Whether a C string says the same as a literal in lower case, whatever the case of its own letters.
func isSame(_ string: UnsafePointer<CChar>, _ literal: StaticString) -> Bool {
  // The literal's zero is compared too: it ends both at once.
  for index in 0...literal.utf8CodeUnitCount {
    var byte = unsafe UInt8(bitPattern: string[index])
    if UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte { byte |= 0x20 }
    guard unsafe byte == literal.utf8Start[index] else { return false }
  }
  return true
}

/// Bytes that outlive the span: the caller's, during a call, or a property's.
@_lifetime(immortal)
func span(_ start: UnsafeRawPointer, _ count: Int) -> Span<UInt8> {
  let span = unsafe Span<UInt8>(_unsafeStart: start.assumingMemoryBound(to: UInt8.self), count: count)
  return unsafe _overrideLifetime(span, copying: ())
}

/// A C string without its zero.
@_lifetime(immortal)
func span(_ string: UnsafePointer<CChar>) -> Span<UInt8> {
  unsafe span(UnsafeRawPointer(string), shim_length(string))
}
