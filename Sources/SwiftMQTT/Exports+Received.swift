// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 9: received messages.

public import CSwiftMQTT
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

@c @implementation
public func smq_hold(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    return unsafe (slot.pointee.client.hold() ? Status.ok : .state).rawValue
  }
}

@c @implementation
public func smq_ack(
  _ client: OpaquePointer?, _ token: UInt64, _ reason_code: UInt32,
  _ properties: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let properties = try unsafe span(properties)
    guard let token = Counter.uint32(token), token != 0 else { throw .token }
    guard let reason = UInt8(exactly: reason_code) else { throw .reasonCode }
    do throws(SessionError) {
      try unsafe slot.pointee.client.acknowledge(token, reasonCode: reason, properties: properties)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_packet_identifier(_ client: OpaquePointer?, _ token: UInt64) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard let token = Counter.uint32(token), token != 0,
      let identifier = unsafe slot.pointee.client.packetIdentifier(of: token)
    else { throw .token }
    return Int32(identifier)
  }
}

@c @implementation
public func smq_delivery_number(
  _ client: OpaquePointer?, _ token: UInt64, _ number: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  status { () throws(Status) in
    guard let number = unsafe number else { throw .null }
    let slot = try unsafe slot(client)
    guard Feature.hasJournal else { throw .notSupported }
    guard let token = Counter.uint32(token), token != 0 else { throw .token }
    do throws(SessionError) {
      unsafe number.pointee = try slot.pointee.client.deliveryNumber(of: token).uint64
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_receive_into(
  _ client: OpaquePointer?, _ buffer: UnsafeMutableRawPointer?, _ size: Int
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasParts else { throw .notSupported }
    let slot = try unsafe slot(client)
    guard unsafe size == 0 || buffer != nil else { throw .null }
    do throws(SessionError) {
      try unsafe slot.pointee.client.receive(into: LentSpace(start: buffer, size: size))
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_handle(
  _ client: OpaquePointer?, _ index: UInt32, _ filter: UnsafePointer<smq_bytes>?,
  _ handler: smq_handler?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasHandlers else { throw .notSupported }
    guard unsafe filter != nil else { throw .null }
    let slot = try unsafe slot(client)
    let filter = try unsafe span(filter)
    guard unsafe slot.pointee.hasHandlers else { throw .option }
    do throws(HandlerTable.Fault) {
      try unsafe slot.pointee.handlers.set(
        index, filter: filter,
        handler: HandlerTable.Handler(
          function: unsafeBitCast(handler, to: UInt.self), user: UInt(bitPattern: user)))
    } catch {
      switch error {
      case .index: throw .option
      case .topicFilter: throw .topicFilter
      case .utf8: throw .utf8
      case .tooLarge: throw .tooLarge
      case .full: throw .full
      }
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_next_match(
  _ client: OpaquePointer?, _ topic: UnsafePointer<smq_bytes>?, _ after: Int32
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasHandlers else { throw .notSupported }
    guard unsafe topic != nil else { throw .null }
    let slot = try unsafe slot(client)
    let topic = try unsafe span(topic)
    guard unsafe slot.pointee.hasHandlers else { return -1 }
    let next = unsafe slot.pointee.handlers.firstMatch(topic, after: max(Int(after), -1))
    return next.map { Int32(truncatingIfNeeded: $0) } ?? -1
  }
}
