import CMosquitto

/// A list of properties as the core takes them: bytes of the wire, without their length. To be freed.
@unsafe struct EncodedProperties {
  private let memory: UnsafeMutablePointer<UInt8>?
  private let size: Int

  init(_ list: OpaquePointer?) {
    unsafe size = unsafe encodedSize(of: list)
    unsafe memory = unsafe size > 0 ? shim_allocate(size)?.assumingMemoryBound(to: UInt8.self) : nil
    if let memory = unsafe memory { unsafe encode(list, into: memory) }
  }

  /// As long as it is not freed.
  var span: Span<UInt8> {
    @_lifetime(immortal)
    get { unsafe spanOrNone(UnsafeRawPointer(memory), size) }
  }

  func free() { unsafe shim_forget(memory, size) }
}

/// What of a list goes into a packet: all of it. But of one that came from the server the first alone, as with libmosquitto:
/// programs that answer with what they were asked with would send the other's User Properties along.
func withOutgoing(_ list: OpaquePointer?, _ body: (OpaquePointer?) -> Int32) -> Int32 {
  guard let first = unsafe PropertyNode.Property(list), unsafe first.pointee.isReceived else {
    return unsafe body(list)
  }
  guard let alone = unsafe PropertyNode.copy(first) else { return MOSQ_ERR_NOMEM }
  defer { unsafe shim_forget(alone, PropertyNode.size(alone)) }
  return unsafe body(OpaquePointer(alone))
}
