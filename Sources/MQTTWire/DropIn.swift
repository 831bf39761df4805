/// The same sources make the library and the core of the drop-in for libmosquitto, whose packets are those
/// of libmosquitto, byte for byte (docs/decisions/0026). Where the two differ, the code checks this
/// constant, and the other branch is not compiled.
public enum DropIn {
  #if DROP_IN
    @inline(__always) public static var isOn: Bool { true }
  #else
    @inline(__always) public static var isOn: Bool { false }
  #endif
}
