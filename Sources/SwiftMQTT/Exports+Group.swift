// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 17: many clients.

public import CSwiftMQTT
import Driver
import Platform
import Storage

@c @implementation
public func smq_group_size(_ capacity: UInt32) -> Int {
  Feature.hasGroup ? Group.Plan(capacity: capacity).byteCount : 0
}

@c @implementation
public func smq_group_init(
  _ memory: UnsafeMutableRawPointer?, _ size: Int, _ capacity: UInt32,
  _ group: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasGroup else { throw .notSupported }
    guard let memory = unsafe memory, let group = unsafe group else { throw .null }
    guard UInt(bitPattern: memory) % UInt(ArenaLayout.alignment) == 0 else { throw .memoryAlignment }
    let plan = Group.Plan(capacity: capacity)
    guard plan.byteCount > 0 else { throw .option }
    guard size < 0 || size >= plan.byteCount else { throw .memorySize }
    let block = unsafe Arena(start: memory)
    do throws(PlatformError) {
      try unsafe block.start(of: plan.group).initialize(to: Group(plan, in: block))
    } catch {
      throw .noDescriptor
    }
    unsafe group.pointee = OpaquePointer(memory)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_group_close(_ group: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let group = try unsafe place(of: group)
    unsafe group.pointee.removeAll()
    unsafe group.deinitialize(count: 1)
    unsafe group.pointee.magic = 0
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_group_add(_ group: OpaquePointer?, _ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let group = try unsafe place(of: group)
    let slot = try unsafe slot(client)
    try unsafe group.pointee.add(slot, at: group)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_group_remove(_ group: OpaquePointer?, _ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let group = try unsafe place(of: group)
    let slot = try unsafe slot(client)
    guard unsafe slot.pointee.group == group else { throw .state }
    unsafe group.pointee.remove(slot)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_group_fd(_ group: OpaquePointer?) -> Int32 {
  status { () throws(Status) in try unsafe place(of: group).pointee.descriptor }
}

@c @implementation
public func smq_group_next_timeout_ms(_ group: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    try unsafe place(of: group).pointee.nextTimeout(at: Instant(milliseconds: Clock.milliseconds()))
  }
}

@c @implementation
public func smq_group_wait(_ group: OpaquePointer?, _ timeout_ms: Int32) -> Int32 {
  status { () throws(Status) in
    let group = try unsafe place(of: group)
    guard timeout_ms >= -1 else { throw .option }
    return try result(of: unsafe group.pointee.wait(timeout: timeout_ms))
  }
}

@c @implementation
public func smq_group_service(_ group: OpaquePointer?) -> Int32 { unsafe smq_group_wait(group, 0) }

@c @implementation
public func smq_group_next_ready(
  _ group: OpaquePointer?, _ client: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  status { () throws(Status) in
    let group = try unsafe place(of: group)
    guard let client = unsafe client else { throw .null }
    guard let ready = unsafe group.pointee.nextReady() else {
      unsafe client.pointee = nil
      return 0
    }
    unsafe client.pointee = OpaquePointer(ready)
    return 1
  }
}

/// Returns what a handle points to, or throws what is wrong with the handle.
///
/// The caller guarantees that it is a handle from `smq_group_init`.
@inline(never)
@_optimize(size)
private func place(of handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<Group> {
  guard Feature.hasGroup else { throw .notSupported }
  guard let handle = unsafe handle else { throw .null }
  let group = unsafe UnsafeMutablePointer<Group>(handle)
  guard unsafe group.pointee.magic == Group.liveMagic else { throw .client }
  return unsafe group
}
