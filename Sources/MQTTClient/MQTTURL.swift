public import Driver

/// MQTT's own scheme. Others are not supported.
extension ServerURL {
  @_optimize(size)
  public init(parsing text: Span<UInt8>) throws(OptionsError) {
    let scheme: InlineArray<4, UInt8> = [
      UInt8(ascii: "m"), UInt8(ascii: "q"), UInt8(ascii: "t"), UInt8(ascii: "t"),
    ]
    do throws(URLError) {
      try self.init(parsing: text, scheme: scheme.span)
    } catch {
      switch error {
      case .tooLong: throw .option
      case .malformed(let offset): throw .url(at: offset)
      case .unknownScheme(let offset): throw .notSupported(at: offset)
      }
    }
  }
}
