/// What only a client with a journal has. A build without journals has no slot for it either: `Feature.hasJournal`.
#if !WITHOUT_JOURNAL
  public typealias JournalSlot<Element: ~Copyable> = OptionalSlot<Element>
#else
  public typealias JournalSlot<Element: ~Copyable> = AbsentSlot<Element>

  /// A slot without an element, and without a byte.
  @safe public struct AbsentSlot<Element: ~Copyable>: ~Copyable {
    @inline(__always)
    public init() {}

    public var isEmpty: Bool {
      @inline(__always) get { true }
    }

    public var element: Element {
      @inline(__always) unsafeAddress { preconditionFailure() }
      @inline(__always) unsafeMutableAddress { preconditionFailure() }
    }

    public mutating func change<Result>(_ body: (inout Element) -> Result) -> Result { body(&element) }

    @_lifetime(borrow self)
    public func bytes(_ body: (borrowing Element, (Span<UInt8>) -> Void) -> Void) -> Span<UInt8> { Span() }

    @_lifetime(&self)
    public mutating func mutableBytes(
      _ body: (inout Element, (inout MutableSpan<UInt8>) -> Void) -> Void
    ) -> MutableSpan<UInt8> {
      MutableSpan()
    }
  }
#endif
