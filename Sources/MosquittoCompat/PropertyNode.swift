import CMosquitto

/// One property of a list, in one allocation: the bytes of a string, of Binary Data, or of a pair's name
/// stand behind it, and behind those a pair's value. Programs know a list by the address of its first.
@unsafe struct PropertyNode {
  var next: Property?
  let kind: PropertyKind
  let identifier: UInt8
  let textSize: UInt16
  let valueSize: UInt16
  /// The value if it is a number, else 0.
  var number: UInt32
  /// The server sent it.
  let isReceived: Bool

  typealias Property = UnsafeMutablePointer<PropertyNode>

  /// Returns nil if there is no memory. A pointer may be NULL if its size is 0.
  static func make(
    _ kind: PropertyKind, _ identifier: UInt8, number: UInt32 = 0, text: UnsafeRawPointer? = nil,
    textSize: UInt16 = 0, value: UnsafeRawPointer? = nil, valueSize: UInt16 = 0, isReceived: Bool = false
  ) -> Property? {
    let header = unsafe MemoryLayout<PropertyNode>.size
    guard let memory = unsafe shim_allocate(header + Int(textSize) + Int(valueSize)) else { return nil }
    let property = unsafe memory.bindMemory(to: PropertyNode.self, capacity: 1)
    unsafe property.initialize(
      to: PropertyNode(
        next: nil, kind: kind, identifier: identifier, textSize: textSize, valueSize: valueSize,
        number: number, isReceived: isReceived))
    if let text = unsafe text, textSize > 0 {
      unsafe (memory + header).copyMemory(from: text, byteCount: Int(textSize))
    }
    if let value = unsafe value, valueSize > 0 {
      unsafe (memory + header + Int(textSize)).copyMemory(from: value, byteCount: Int(valueSize))
    }
    return unsafe property
  }

  /// A copy that is a list of its own.
  static func copy(_ property: Property) -> Property? {
    let fields = unsafe property.pointee
    return unsafe make(
      fields.kind, fields.identifier, number: fields.number, text: text(property), textSize: fields.textSize,
      value: value(property), valueSize: fields.valueSize, isReceived: fields.isReceived)
  }

  /// The number of bytes of its allocation.
  static func size(_ property: Property) -> Int {
    unsafe MemoryLayout<PropertyNode>.size + Int(property.pointee.textSize) + Int(property.pointee.valueSize)
  }

  static func text(_ property: Property) -> UnsafeRawPointer {
    unsafe UnsafeRawPointer(property) + MemoryLayout<PropertyNode>.size
  }

  static func value(_ property: Property) -> UnsafeRawPointer {
    unsafe text(property) + Int(property.pointee.textSize)
  }

  /// The first property with this identifier, or the next one after it. Returns nil, too, if it is of another
  /// kind.
  static func find(
    _ identifier: Int32, _ kind: PropertyKind, in list: OpaquePointer?, skipFirst: Bool
  ) -> Property? {
    guard PropertyRule.of(identifier)?.kind == kind else { return nil }
    var skip = skipFirst
    var next = unsafe Property(list)
    while let property = unsafe next {
      if unsafe Int32(property.pointee.identifier) == identifier {
        if !skip { return unsafe property }
        skip = false
      }
      unsafe next = unsafe property.pointee.next
    }
    return nil
  }
}

/// Builds a list by adding properties at its end.
@unsafe struct PropertyAppender {
  private(set) var first: OpaquePointer?
  private var last: PropertyNode.Property?

  init(_ list: OpaquePointer? = nil) {
    unsafe first = unsafe list
    unsafe last = unsafe PropertyNode.Property(list)
    while let next = unsafe last?.pointee.next { unsafe last = unsafe next }
  }

  mutating func append(_ property: PropertyNode.Property) {
    if let last = unsafe last {
      unsafe last.pointee.next = unsafe property
    } else {
      unsafe first = OpaquePointer(property)
    }
    unsafe last = unsafe property
  }
}
