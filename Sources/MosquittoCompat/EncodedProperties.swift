import CMosquitto

/// A list of properties as the core takes them: bytes of the wire, without their length. The caller frees it.
@safe struct EncodedProperties {
  private let memory: UnsafeMutablePointer<UInt8>?
  private let size: Int

  init(_ list: OpaquePointer?) {
    size = unsafe encodedSize(of: list)
    unsafe memory = unsafe size > 0 ? shim_allocate(size)?.assumingMemoryBound(to: UInt8.self) : nil
    if let memory = unsafe memory { unsafe encode(list, into: memory) }
  }

  /// Valid until it is freed.
  var span: Span<UInt8> {
    @_lifetime(immortal)
    get { unsafe spanOrNone(UnsafeRawPointer(memory), size) }
  }

  func free() { unsafe shim_forget(memory, size) }
}

/// Passes on what of a list goes into a packet: all of it, but of a list that came from the server only the
/// first property, as with libmosquitto. Programs that respond with the properties of the request would send
/// its User Properties back otherwise.
func withOutgoing(_ list: OpaquePointer?, _ body: (OpaquePointer?) -> Int32) -> Int32 {
  var alone: PropertyNode.Property? = nil
  if let first = unsafe PropertyNode.Property(list), unsafe first.pointee.isReceived {
    unsafe alone = unsafe PropertyNode.copy(first)
    guard unsafe alone != nil else { return MOSQ_ERR_NOMEM }
  }
  defer { unsafe shim_forget(alone, alone.map { unsafe PropertyNode.size($0) } ?? 0) }
  // Called in one place, because it is inlined there.
  return unsafe body(alone.map { OpaquePointer($0) } ?? list)
}
