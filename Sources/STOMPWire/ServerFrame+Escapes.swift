public import Storage

extension ServerFrame {
  /// Undoes the escapes of all headers where they are. What was escaped stands for itself then, so zeros, which no header
  /// has, take the places of the colons behind names and of the ends of lines: `HeaderReader` reads both.
  ///
  /// `bytes` begin with the command.
  @inline(never)
  public mutating func undoEscapes(in bytes: inout MutableSpan<UInt8>, _ version: STOMPVersion) {
    guard hasEscapes else { return }
    hasEscapes = false
    let end = headers.offset &+ headers.count
    let strips = HeaderReader.strips(command, version)
    var read = headers.offset
    var write = read
    while read < end {
      Self.move(&bytes, from: &read, to: &write, version, strips, end: UInt8(ascii: ":"))
      let (from, to) = (read, write)
      Self.move(&bytes, from: &read, to: &write, version, strips, end: lineFeed)
      // In front of the first escape, values stay where they are.
      if write < read { moved(from, to: ByteRange(offset: to, count: write &- 1 &- to)) }
    }
    headers = ByteRange(offset: headers.offset, count: write &- headers.offset)
  }

  /// Moves a text to the front, and a zero behind it in place of `separator`. The frame was checked: each line has a
  /// colon, and each backslash a letter.
  @inline(never)
  @_optimize(speed)
  private static func move(
    _ bytes: inout MutableSpan<UInt8>, from read: inout Int, to write: inout Int, _ version: STOMPVersion,
    _ strips: Bool, end separator: UInt8
  ) {
    var escapes: UInt = 0
    let found = ByteSearch.firstIndex(of: separator, in: bytes.span, from: read, strange: &escapes) {
      Word.contains(Escapes.backslash, in: $0)
    }
    let hasReturn = strips && separator == lineFeed && found > read && bytes[found &- 1] == carriageReturn
    let end = hasReturn ? found &- 1 : found
    if escapes == 0 {
      // As most are: it moves as a whole, and not at all in front of the first escape.
      if write < read { Storage.move(&bytes, from: read, to: write, count: end &- read) }
      write &+= end &- read
    } else {
      while read < end {
        var next = bytes[read]
        if next == Escapes.backslash, let byte = Escapes.byte(for: bytes[read &+ 1], version) {
          next = byte
          read &+= 1
        }
        bytes[write] = next
        write &+= 1
        read &+= 1
      }
    }
    bytes[write] = 0
    write &+= 1
    read = found &+ 1
  }

  /// A value has another place. That of an earlier one, which has its new place, is further to the front.
  private mutating func moved(_ start: Int, to range: ByteRange) {
    func place(_ old: ByteRange) -> ByteRange { !old.isEmpty && old.offset == start ? range : old }
    destination = place(destination)
    messageID = place(messageID)
    subscription = place(subscription)
    ack = place(ack)
    contentType = place(contentType)
    receiptID = place(receiptID)
    message = place(message)
  }
}
