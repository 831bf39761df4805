import CMosquitto

/// A literal as a C string: it ends with a zero and lives as long as the library.
func text(_ literal: StaticString) -> UnsafePointer<CChar> {
  unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// Whether a C string equals a literal in lower case, without regard to the case of its own letters.
func isSame(_ string: UnsafePointer<CChar>, _ literal: StaticString) -> Bool {
  // The zero of the literal is compared, too, so both end there.
  for index in 0...literal.utf8CodeUnitCount {
    var byte = unsafe UInt8(bitPattern: string[index])
    if UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte { byte |= 0x20 }
    guard unsafe byte == literal.utf8Start[index] else { return false }
  }
  return true
}

/// The caller guarantees that the bytes outlive the span: during a call those of the program, or those of a
/// property.
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

/// NULL has no bytes.
@_lifetime(immortal)
func spanOrNone(_ text: UnsafePointer<CChar>?) -> Span<UInt8> {
  guard let text = unsafe text else { return Span() }
  return unsafe span(text)
}

/// NULL has no bytes.
@_lifetime(immortal)
func spanOrNone(_ bytes: UnsafeRawPointer?, _ count: Int) -> Span<UInt8> {
  guard let bytes = unsafe bytes, count > 0 else { return Span() }
  return unsafe span(bytes, count)
}

/// A copy for `shim_free()`.
func copied(_ text: UnsafePointer<CChar>) -> Mosquitto.Text? { unsafe shim_copy(text, shim_length(text)) }

/// Overwrites the text before it frees it.
func free(_ text: inout Mosquitto.Text?) {
  unsafe shim_forget(text, text.map { unsafe shim_length($0) } ?? 0)
  unsafe text = nil
}

/// NULL and an empty text are none.
func isEmpty(_ text: UnsafePointer<CChar>?) -> Bool { unsafe text == nil || text?.pointee == 0 }
