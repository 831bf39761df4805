import Synchronization

/// A struct that has one of these is used where it lies.
///
/// Swift 6.3.1 hands a large struct that is only borrowed to a method by value, which is a copy of kilobytes for a look at
/// one field. One that holds an atomic it cannot take for a value: it hands over the address.
public struct InPlace: ~Copyable {
  private let anchor = Atomic<UInt8>(0)

  public init() {}
}
