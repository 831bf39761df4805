extension StaticString {
  /// The bytes of a constant text.
  public var bytes: Span<UInt8> {
    @_lifetime(immortal)
    get {
      // A static string lives as long as the program.
      let span = unsafe Span(_unsafeStart: utf8Start, count: utf8CodeUnitCount)
      return unsafe _overrideLifetime(span, copying: ())
    }
  }
}
