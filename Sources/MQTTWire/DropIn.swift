/// The same sources are the library and the core of the drop-in for libmosquitto, whose packets are that library's, byte for
/// byte (docs/decisions/0026). Where the two differ, the code asks here. It is a constant: what is not so is not compiled.
public enum DropIn {
  #if DROP_IN
    @inline(__always) public static var isOn: Bool { true }
  #else
    @inline(__always) public static var isOn: Bool { false }
  #endif
}
