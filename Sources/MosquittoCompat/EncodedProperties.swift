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

  /// Without those that `isOut` names.
  init(_ list: OpaquePointer?, _ isOut: (UInt8) -> Bool) {
    var copy: OpaquePointer? = nil
    _ = unsafe mosquitto_property_copy_all(&copy, list)
    var rest = unsafe PropertyAppender()
    var next = unsafe PropertyNode.Property(copy)
    while let property = unsafe next {
      unsafe next = unsafe property.pointee.next
      unsafe property.pointee.next = nil
      if unsafe isOut(property.pointee.identifier) {
        unsafe shim_free(property)
      } else {
        unsafe rest.append(property)
      }
    }
    unsafe copy = unsafe rest.first
    unsafe self.init(copy)
    unsafe mosquitto_property_free_all(&copy)
  }

  /// As long as it is not freed.
  var span: Span<UInt8> {
    @_lifetime(immortal)
    get { unsafe spanOrNone(UnsafeRawPointer(memory), size) }
  }

  func free() { unsafe shim_free(memory) }
}
