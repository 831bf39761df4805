// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 14: other threads.

public import CSwiftMQTT
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage

@c @implementation
public func smq_submit(_ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasSubmit else { throw .notSupported }
    guard let message = unsafe message else { throw .null }
    let slot = try unsafe sharedSlot(client)
    let publish = try unsafe whole(message)
    do throws(SessionError) {
      // Only the submitter is read here: the client belongs to its owner.
      try unsafe slot.pointee.submitter.submit(publish, options(message)) {
        Instant(milliseconds: Clock.milliseconds())
      }
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}
