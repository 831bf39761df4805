/// A struct of options as a library knows it: what is needed to find out which of them are at fault.
@safe public struct OptionsDescription {
  /// The row of `..._abi_layout()` for the first field, which is the size. A row has the offset and the size of a field.
  let layout: UnsafePointer<UInt16>
  /// The fields behind the size, from 1 on. The first one has the flags, the second one the URL, the third one the host.
  let fields: NameList
  let flags: NameList
  let flagPrefix: StaticString

  /// The caller guarantees that the layout is that of the struct, with as many fields as there are names, and one more.
  ///
  /// - Parameter position: how many structs of the header come before this one.
  @unsafe public init(
    layout: UnsafePointer<UInt16>, position: Int, fields: NameList, flags: NameList, flagPrefix: StaticString
  ) {
    var row = unsafe layout
    for _ in 0..<position { unsafe row += 2 &+ 2 &* Int(row[1]) }
    unsafe self.layout = row
    self.fields = fields
    self.flags = flags
    self.flagPrefix = flagPrefix
  }

  func range(_ field: Int32) -> Range<Int> {
    let row = unsafe layout + (2 &+ 2 &* Int(field))
    return unsafe Int(row[0])..<Int(row[0]) &+ Int(row[1])
  }
}

/// Names the options because of which `check` returns `error`.
///
/// The checks say what is wrong, and not of which option: naming it there would cost code in each of a hundred places. So
/// this leaves out one option after the other, for as long as the error stays the same. What cannot be left out is at
/// fault: one option, or several that contradict each other. It begins at the end of the struct, because options depend on
/// earlier ones.
///
/// - Parameters:
///   - options: a copy of the struct.
///   - complete: gives the options what there has to be in place of a field that was left out: a server, above all.
@inline(never)
@_optimize(size)
public func nameFault<Options: BitwiseCopyable>(
  of options: inout Options, _ error: Int32, _ description: OptionsDescription, in names: inout TextWriter,
  check: (inout Options) -> Int32, complete: (inout Options, Int32) -> Void
) {
  guard check(&options) == error else { return names.addName(of: "size") }
  for field in stride(from: description.fields.count, to: 1, by: -1) {
    let before = options
    change(&options, description.range(field), keeping: 0)
    complete(&options, field)
    if check(&options) == error { continue }
    options = before
    unsafe names.addName("", description.fields.name(field))
  }
  for bit in stride(from: description.flags.count &- 1, through: 0, by: -1) {
    let before = options
    change(&options, description.range(1), keeping: ~(1 << UInt32(bit)))
    if check(&options) == error { continue }
    options = before
    unsafe names.addName(description.flagPrefix, description.flags.name(bit))
  }
  // Those that are unknown, whatever else there is.
  if hasFlag(options, description.range(1), beyond: description.flags.count) {
    unsafe names.addName("", description.fields.name(1))
  }
}

/// Leaves these bits of each four bytes of a field.
@inline(never)
@_optimize(size)
private func change<Options: BitwiseCopyable>(
  _ options: inout Options, _ range: Range<Int>, keeping mask: UInt32
) {
  unsafe withUnsafeMutableBytes(of: &options) { bytes in
    for offset in range {
      let bits = UInt8(truncatingIfNeeded: mask &>> (8 &* UInt32(truncatingIfNeeded: offset & 3)))
      unsafe bytes[offset] &= bits
    }
  }
}

@_optimize(size)
private func hasFlag<Options: BitwiseCopyable>(
  _ options: borrowing Options, _ range: Range<Int>, beyond count: Int32
) -> Bool {
  unsafe withUnsafeBytes(of: options) { bytes in
    for bit in Int(count)..<32 {
      if unsafe bytes[range.lowerBound &+ bit / 8] &>> UInt8(truncatingIfNeeded: bit & 7) & 1 != 0 {
        return true
      }
    }
    return false
  }
}

extension TextWriter {
  @inline(never)
  mutating func addName(_ prefix: StaticString, _ name: UnsafePointer<CChar>?) {
    if count > 0 { add(", ") }
    add(prefix)
    unsafe add(name: name)
  }

  /// One that is no field behind the size.
  public mutating func addName(of name: StaticString) {
    if count > 0 { add(", ") }
    add(name)
  }
}
