/// A random number that every block of a file has. Blocks of an older file that lie in the same sectors have
/// another.
public struct Salt: BitwiseCopyable, Equatable {
  let low: UInt32
  let high: UInt32

  public init(low: UInt32, high: UInt32) {
    self.low = low
    self.high = high
  }
}
