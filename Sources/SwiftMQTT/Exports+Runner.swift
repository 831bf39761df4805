// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 14: a thread that owns a client.

public import CSwiftMQTT
import Driver
import MQTTClient
import Platform
import Storage

@c @implementation
public func smq_runner_start(
  _ runner: UnsafeMutablePointer<smq_runner>?, _ client: OpaquePointer?,
  _ options: UnsafePointer<smq_runner_options>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasRunner else { throw .notSupported }
    guard let options = unsafe options else { throw .null }
    let runner = try unsafe slot(runner)
    let client = try unsafe slot(client)
    guard unsafe !client.pointee.client.isCallerDriven, unsafe client.pointee.group == nil else {
      throw .state
    }
    try unsafe checkSize(options, options.pointee.size, known: MemoryLayout<smq_runner_options>.size)
    guard unsafe options.pointee.reserved == 0 else { throw .structSize }
    let name = try unsafe name(options.pointee.name)
    try unsafe check(options.pointee, name: name)
    guard unsafe runner.pointee.begin() else { throw .state }
    guard let wakeUp = unsafe client.pointee.client.wakeUp() else {
      unsafe runner.pointee.finish()
      throw .noDescriptor
    }
    unsafe runner.pointee.wakeUp = wakeUp
    unsafe runner.pointee.client = client
    unsafe runner.pointee.onEvent = options.pointee.on_event
    unsafe runner.pointee.user = options.pointee.user
    do throws(PlatformError) {
      unsafe runner.pointee.thread = try OwnThread.start(
        name: name, priority: options.pointee.priority,
        stackBytes: options.pointee.stack_bytes, argument: UnsafeMutableRawPointer(runner)
      ) { argument in
        if let argument = unsafe argument {
          unsafe RunnerSlot.run(argument.assumingMemoryBound(to: RunnerSlot.self))
        }
        return nil
      }
    } catch {
      unsafe runner.pointee.osError = error.code
      unsafe runner.pointee.finish()
      throw .noThread
    }
    unsafe runner.pointee.begun()
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_runner_stop(_ runner: UnsafeMutablePointer<smq_runner>?, _ drain_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasRunner else { throw .notSupported }
    let runner = try unsafe slot(runner)
    guard drain_ms <= 86_400_000 else { throw .option }
    guard unsafe !runner.pointee.isIdle else { return Status.ok.rawValue }
    guard unsafe !runner.pointee.isOwnThread, unsafe runner.pointee.askToStop(drain: drain_ms) else {
      throw .state
    }
    unsafe OwnThread.join(runner.pointee.thread)
    unsafe runner.pointee.finish()
    return Status.ok.rawValue
  }
}

/// The caller guarantees that it is a `smq_runner`: all zero, or as the functions above left it.
private func slot(_ runner: UnsafeMutablePointer<smq_runner>?) throws(Status) -> UnsafeMutablePointer<
  RunnerSlot
> {
  guard let runner = unsafe runner else { throw .null }
  precondition(MemoryLayout<RunnerSlot>.size <= MemoryLayout<smq_runner>.size)
  return unsafe UnsafeMutableRawPointer(runner).assumingMemoryBound(to: RunnerSlot.self)
}

private func check(_ options: smq_runner_options, name: Span<UInt8>) throws(Status) {
  guard unsafe 0...99 ~= options.priority, name.count <= 15,
    unsafe options.stack_bytes == 0 || 131_072...268_435_456 ~= options.stack_bytes
  else { throw .option }
  for index in 0..<name.count where name[index] == 0 { throw .option }
}

@_lifetime(immortal)
private func name(_ wanted: smq_bytes) throws(Status) -> Span<UInt8> {
  guard unsafe wanted.size == 0 else { return try unsafe span(wanted) }
  let usual: StaticString = "smq-runner"
  let span = unsafe Span(_unsafeStart: usual.utf8Start, count: usual.utf8CodeUnitCount)
  return unsafe _overrideLifetime(span, copying: ())
}
