// The calls of Linux, with `unsafe`: each pointer is that of an array that lives during the call, with its size, or a
// zero-terminated string of libc. See Library.swift for the library's calls.

import CPlatform
import CTool
import Storage

extension StaticString {
  var bytes: [UInt8] {
    @inline(never) get { withUTF8Buffer { unsafe Array($0) } }
  }
}

/// The bytes of a literal.
@inline(never)
func ascii(_ text: StaticString) -> [UInt8] { text.bytes }

/// The bytes of a zero-terminated text, without its zero.
func bytes(of text: UnsafePointer<CChar>?) -> [UInt8] {
  var result: [UInt8] = []
  guard var next = unsafe text else { return result }
  while unsafe next.pointee != 0 {
    unsafe result.append(UInt8(bitPattern: Int8(next.pointee)))
    unsafe next += 1
  }
  return result
}

enum System {
  // ---- Time

  static var nanoseconds: Int64 { platform_now_ns() }
  static var milliseconds: Int64 { platform_now_ns() / 1_000_000 }

  static var wall: (seconds: Int64, nanoseconds: Int32) {
    var seconds: Int64 = 0
    var nanoseconds: Int32 = 0
    unsafe tool_wall(&seconds, &nanoseconds)
    return (seconds, nanoseconds)
  }

  /// The result of strftime() for `%` and this conversion.
  static func time(_ conversion: UInt8, _ seconds: Int64) -> [UInt8] {
    unsafe filled(200) { unsafe tool_time_text(seconds, conversion, $0, 200) }
  }

  /// 2026-11-27T13:45:00, in UTC.
  static func utc(_ seconds: Int64) -> [UInt8] {
    unsafe filled(64) { unsafe tool_utc_text(seconds, $0, 64) }
  }

  // ---- Numbers

  /// The shortest text that is this number when it is read again.
  static func text(of value: Double) -> [UInt8] {
    unsafe filled(32) { unsafe tool_double_text(value, $0, 32) }
  }

  /// As JSON prints a number; nil if it is not one.
  static func jsonNumber(_ text: [UInt8]) -> [UInt8]? {
    let result = unsafe text.withUnsafeBytes { source in
      unsafe filled(32) { unsafe tool_json_number(source.baseAddress, source.count, $0) }
    }
    return result.isEmpty ? nil : result
  }

  /// A decimal fraction, times `scale`; nil if it is not one.
  static func decimal(_ text: [UInt8], scale: Int64) -> Int64? {
    var value: Int64 = 0
    let isNumber = unsafe text.withUnsafeBytes {
      unsafe tool_decimal($0.baseAddress, $0.count, scale, &value) == 1
    }
    return isNumber ? value : nil
  }

  // ---- Files

  static func open(_ path: [UInt8]) -> Int32 { unsafe withTerminated(path) { unsafe tool_open($0) } }
  /// Makes a file, or empties it; nobody else may read it. Returns a descriptor, or -errno.
  static func create(_ path: [UInt8]) -> Int32 { unsafe withTerminated(path) { unsafe tool_create($0) } }
  /// The same, of a file that is not there yet, nor a link of this name.
  static func createNew(_ path: [UInt8]) -> Int32 {
    unsafe withTerminated(path) { unsafe tool_create_new($0) }
  }
  /// 0 or an errno.
  static func rename(_ old: [UInt8], _ new: [UInt8]) -> Int32 {
    unsafe withTerminated(old) { old in unsafe withTerminated(new) { unsafe tool_rename(old, $0) } }
  }
  static func close(_ descriptor: Int32) { platform_close(descriptor) }
  static func isTerminal(_ descriptor: Int32) -> Bool { tool_is_terminal(descriptor) == 1 }
  static func openStandardDescriptors() { _ = tool_standard_descriptors() }

  /// Appends at most `size` bytes to `buffer`. Returns how many; 0 at the end, or -errno.
  static func read(_ descriptor: Int32, into buffer: inout [UInt8], _ size: Int) -> Int64 {
    var count: Int64 = 0
    let chunk = unsafe [UInt8](unsafeUninitializedCapacity: size) { target, initialized in
      unsafe count = tool_read(descriptor, target.baseAddress, size)
      initialized = count > 0 ? Int(count) : 0
    }
    buffer += chunk
    return count
  }

  /// Opens a file itself, and not what a symbolic link names. Returns a descriptor, or -errno.
  static func openItself(_ path: [UInt8]) -> Int32 {
    unsafe withTerminated(path) { unsafe tool_open_itself($0) }
  }

  /// Fills a range of `region` from an offset of a file on. Returns how many bytes there were, or -errno.
  static func read(_ descriptor: Int32, at offset: Int64, into region: inout Region, _ range: Range<Int>)
    -> Int64
  {
    var space = region.mutableBytes(in: range)
    return unsafe space.withUnsafeMutableBytes {
      unsafe tool_read_part(descriptor, offset, $0.baseAddress, $0.count)
    }
  }

  /// Its size; below 0: it is not a file but a pipe or similar.
  static func state(_ descriptor: Int32) -> tool_file { tool_file_state(descriptor) }

  /// false: the file cannot be read there, or has changed.
  static func read(
    _ descriptor: Int32, _ state: tool_file, at offset: Int, into target: UnsafeMutableRawPointer, _ size: Int
  ) -> Bool {
    var state = state
    return unsafe tool_read_at(descriptor, &state, Int64(offset), target, size) == 0
  }

  /// 0 or an errno.
  static func write(_ descriptor: Int32, _ data: [UInt8]) -> Int32 {
    unsafe data.withUnsafeBytes { unsafe tool_write(descriptor, $0.baseAddress, $0.count) }
  }

  // ---- Sockets, and the terminal

  /// Connects to an inspection socket. Returns a descriptor, or -errno.
  static func inspect(_ path: [UInt8]) -> Int32 {
    unsafe withTerminated(path) { path in
      unsafe platform_inspect(path?.assumingMemoryBound(to: CChar.self))
    }
  }
  /// Appends what a socket has, one datagram or at most `size` bytes, to `buffer`: how many; 0: it has nothing now; `nil`:
  /// it is at its end, or broken.
  static func receive(_ descriptor: Int32, into buffer: inout [UInt8], _ size: Int) -> Int? {
    var count: Int32 = 0
    buffer += unsafe [UInt8](unsafeUninitializedCapacity: size) { target, initialized in
      unsafe count = platform_receive(descriptor, target.baseAddress, size)
      initialized = Int(max(0, count))
    }
    return count < 0 ? nil : Int(count)
  }

  /// Each is a descriptor, or -errno.
  static func connect(_ host: [UInt8], _ port: UInt16) -> Int32 {
    unsafe withTerminated(host) { unsafe tool_connect($0, port) }
  }
  static func accept(_ listener: Int32) -> Int32 { tool_accept(listener) }
  static func listen(_ port: UInt16) -> (descriptor: Int32, port: UInt16) {
    var bound: UInt16 = 0
    let descriptor = unsafe tool_listen(port, &bound)
    return (descriptor, bound)
  }

  static func takeKeys() -> Int32 { tool_terminal_keys(0) }
  static func giveKeysBack() { tool_terminal_restore() }

  static var terminalSize: (rows: Int, columns: Int) {
    var rows: Int32 = 0
    var columns: Int32 = 0
    unsafe tool_terminal_size(1, &rows, &columns)
    return (Int(rows), Int(columns))
  }

  // ---- The process

  /// A descriptor that becomes readable with SIGINT or SIGTERM.
  static func catchSignals() -> Int32 { tool_catch_signals() }
  static var caughtSignal: Int32 { tool_caught_signal() }
  static var processID: Int { Int(tool_process_id()) }
  static func errorText(_ error: Int32) -> Text { unsafe Text(bytes(of: platform_error_text(error))) }
  static func resolveText(_ error: Int32) -> Text { unsafe Text(bytes(of: tool_resolve_text(error))) }
  static func allowDescriptors(_ wanted: Int64) -> Int64 { tool_allow_descriptors(wanted) }

  static func environment(_ name: StaticString) -> [UInt8] {
    unsafe withTerminated(name.bytes) { name in
      unsafe bytes(of: platform_environment(name?.assumingMemoryBound(to: CChar.self)))
    }
  }

  static func random(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: platform_random()) }
  }

  // ---- Waiting

  struct Wait {
    let descriptor: Int32
    /// false: it only matters whether the other end is gone.
    var wantsInput = true
    var isReadable = false
    var isBroken = false
  }

  static func poll(_ list: inout [Wait], _ timeout: Int64) {
    var watches = list.map {
      platform_watch(
        fd: $0.descriptor,
        wanted: Int32($0.wantsInput ? PLATFORM_READABLE : 0),
        found: 0)
    }
    unsafe _ = platform_poll(&watches, Int32(watches.count), atMost(timeout))
    for index in list.indices {
      list[index].isReadable = watches[index].found & Int32(PLATFORM_READABLE) != 0
      list[index].isBroken = watches[index].found & Int32(PLATFORM_BROKEN) != 0
    }
  }

  /// No limit is below 0.
  private static func atMost(_ timeout: Int64) -> Int32 { Int32(clamping: Swift.max(-1, timeout)) }

  /// Many descriptors to wait for, each known by a number.
  struct Set {
    private let descriptor = platform_poller_open()

    var error: Int32 { descriptor < 0 ? -descriptor : 0 }

    /// 0 or an errno.
    func add(_ other: Int32, number: UInt32) -> Int32 {
      -platform_poller_set(descriptor, other, number, Int32(PLATFORM_READABLE), 1)
    }

    /// The numbers of those that are readable.
    func wait(_ timeout: Int64) -> [UInt32] {
      unsafe [UInt32](unsafeUninitializedCapacity: 256) { target, initialized in
        guard let start = target.baseAddress else { return }
        let count = unsafe platform_wait_many(descriptor, atMost(timeout), start, 256)
        initialized = Int(Swift.max(0, count))
      }
    }
  }

  // ---- Memory

  /// Lends zeros for the library's data structures to lie in.
  static func withRegion<Failure: Error>(
    _ size: Int, _ body: (inout Region) throws(Failure) -> Void
  ) throws(Failure) {
    let start = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: ArenaLayout.alignment)
    defer { unsafe start.deallocate() }
    unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    var layout = ArenaLayout()
    let slice = layout.reserve(size, of: UInt8.self)
    var region = unsafe Arena(start: start).region(slice)
    try body(&region)
  }

  // ---- Names

  /// A name's addresses, or an EAI_… value.
  static func addresses(of host: [UInt8], timeout: Int64) -> (text: [UInt8], error: Int32) {
    var result: Int32 = 0
    let text = unsafe filled(1000) { buffer in
      unsafe result = withTerminated(host) { unsafe tool_resolve($0, buffer, 1000, timeout) }
      return Int(max(0, result))
    }
    return (text, min(0, result))
  }

  /// Address and port of the connection that this epoll descriptor watches; empty if that is not known.
  static func peer(of epoll: Int32) -> [UInt8] {
    unsafe filled(100) { buffer in unsafe Int(tool_peer(epoll, buffer, 100)) }
  }

  // ---- Helpers

  private static func filled(_ capacity: Int, _ fill: (UnsafeMutableRawPointer) -> Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: capacity) { target, initialized in
      guard let start = target.baseAddress else { return }
      unsafe initialized = fill(UnsafeMutableRawPointer(start))
    }
  }

  private static func withTerminated<Result>(_ text: [UInt8], _ body: (UnsafeRawPointer?) -> Result) -> Result
  {
    let terminated = text + [0]
    return unsafe terminated.withUnsafeBytes { unsafe body($0.baseAddress) }
  }
}

#if !SWIFT_PACKAGE  // a program of tests has its own
  @c(main)
#endif
public func start(_ count: Int32, _ values: UnsafePointer<UnsafePointer<CChar>?>) -> Int32 {
  System.openStandardDescriptors()
  tool_ignore_broken_pipes()
  return run((1..<Swift.max(1, Int(count))).map { unsafe bytes(of: values[$0]) })
}
