/// The application's function that supplies the payload of a stream (`smq_pull`).
@safe public struct PayloadSource: BitwiseCopyable {
  public typealias Function =
    @convention(c) (
      UnsafeMutableRawPointer?, UInt32, UnsafeMutableRawPointer?, Int
    ) -> Int32

  private let function: Function
  private let user: UnsafeMutableRawPointer?

  /// The caller guarantees that `function` may be called with `user` until the message is complete.
  @unsafe public init(_ function: @escaping Function, user: UnsafeMutableRawPointer?) {
    unsafe self.function = function
    unsafe self.user = user
  }

  /// How many bytes it put into `space`, from `offset` of the payload on; `nil`: it gave up, or claims more
  /// than there is room for.
  func supply(_ offset: Int, into space: inout MutableSpan<UInt8>) -> Int? {
    unsafe space.withUnsafeMutableBytes { bytes in
      let result = unsafe function(
        user, UInt32(truncatingIfNeeded: offset), bytes.baseAddress, bytes.count)
      let count = Int(result)
      return count >= 0 && count <= bytes.count ? count : nil
    }
  }
}
