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
    let name = try unsafe span(options.pointee.name)
    var thread = Runner.ThreadOptions(name: name.count > 0 ? name : usualName.bytes)
    unsafe thread.priority = options.pointee.priority
    unsafe thread.stackBytes = options.pointee.stack_bytes
    guard thread.areValid else { throw .option }
    do throws(Runner.StartError) {
      try unsafe Runner.start(
        runner, client: UnsafeMutableRawPointer(client),
        onEvent: unsafeBitCast(options.pointee.on_event, to: UnsafeRawPointer?.self),
        user: options.pointee.user, thread, wakeUp: { unsafe client.pointee.client.wakeUp() }
      ) { argument in
        if let runner = unsafe argument?.assumingMemoryBound(to: Runner.self) {
          unsafe Runner.run(runner, RunClient(runner))
        }
        return nil
      }
    } catch {
      switch error {
      case .state: throw .state
      case .descriptor: throw .noDescriptor
      case .thread: throw .noThread
      }
    }
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
    guard unsafe !runner.pointee.isOwnThread, unsafe runner.pointee.stop(drain: drain_ms) else {
      throw .state
    }
    return Status.ok.rawValue
  }
}

/// The caller guarantees that it is a `smq_runner`: all zero, or as the functions above left it.
private func slot(_ runner: UnsafeMutablePointer<smq_runner>?) throws(Status) -> UnsafeMutablePointer<Runner>
{
  guard let runner = unsafe runner else { throw .null }
  precondition(MemoryLayout<Runner>.size <= MemoryLayout<smq_runner>.size)
  return unsafe UnsafeMutableRawPointer(runner).assumingMemoryBound(to: Runner.self)
}

private var usualName: StaticString { "smq-runner" }
