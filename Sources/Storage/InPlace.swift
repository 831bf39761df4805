import Synchronization

/// A struct that contains one of these is used in place.
///
/// Swift 6.3.1 passes a large struct that is only borrowed to a method by value: it copies kilobytes to
/// read one field. A struct that contains an atomic is no plain value for the compiler, which passes its
/// address.
public struct InPlace: ~Copyable {
  private let anchor = Atomic<UInt8>(0)

  public init() {}
}
