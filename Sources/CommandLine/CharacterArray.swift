/// Of an array of characters, which Swift has as a tuple.
func text<Characters>(of characters: Characters) -> [UInt8] {
  unsafe withUnsafeBytes(of: characters) { bytes in unsafe Array(bytes.prefix { $0 != 0 }) }
}
