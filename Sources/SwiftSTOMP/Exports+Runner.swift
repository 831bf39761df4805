// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 12: a thread that owns a client.

public import CSwiftSTOMP
import Driver
import Platform
import STOMPClient
import Storage

@c @implementation
public func sst_runner_start(
  _ runner: UnsafeMutablePointer<sst_runner>?, _ client: OpaquePointer?,
  _ options: UnsafePointer<sst_runner_options>?
) -> Int32 {
  status { () throws(Status) in
    guard let options = unsafe options else { throw .null }
    let runner = try unsafe slot(runner)
    let client = try unsafe slot(client)
    guard unsafe !client.pointee.client.isCallerDriven else { throw .state }
    try unsafe checkSize(options, options.pointee.size, known: MemoryLayout<sst_runner_options>.size)
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
public func sst_runner_stop(_ runner: UnsafeMutablePointer<sst_runner>?, _ drain_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let runner = try unsafe slot(runner)
    guard drain_ms <= 86_400_000 else { throw .option }
    guard unsafe !runner.pointee.isIdle else { return Status.ok.rawValue }
    guard unsafe !runner.pointee.isOwnThread, unsafe runner.pointee.stop(drain: drain_ms) else {
      throw .state
    }
    return Status.ok.rawValue
  }
}

/// The caller guarantees that it is a `sst_runner`: all zero, or as the functions above left it.
private func slot(_ runner: UnsafeMutablePointer<sst_runner>?) throws(Status) -> UnsafeMutablePointer<Runner>
{
  guard let runner = unsafe runner else { throw .null }
  precondition(MemoryLayout<Runner>.size <= MemoryLayout<sst_runner>.size)
  return unsafe UnsafeMutableRawPointer(runner).assumingMemoryBound(to: Runner.self)
}

private var usualName: StaticString { "sst-runner" }
