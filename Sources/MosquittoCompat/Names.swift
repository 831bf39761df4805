// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The texts of numbers, and the numbers of commands. Programs print the texts, and some compare them, so they
// are exactly those of libmosquitto.

import CMosquitto
import CPlatform

@c public func mosquitto_strerror(_ error: Int32) -> UnsafePointer<CChar>? {
  // The text that libc has for the error of the call that failed last in this thread.
  unsafe error == Int32(MOSQ_ERR_ERRNO)
    ? UnsafePointer(platform_error_text(shim_errno())) : text(textOfError(error))
}

@c public func mosquitto_connack_string(_ code: Int32) -> UnsafePointer<CChar>? {
  unsafe text(textOfConnack(code))
}

@c public func mosquitto_reason_string(_ code: Int32) -> UnsafePointer<CChar>? {
  unsafe text(textOfReason(code))
}

/// The commands that may have properties, without SUBACK and UNSUBACK, and the Will, whose number is above
/// all commands.
@c public func mosquitto_string_to_command(
  _ name: UnsafePointer<CChar>?, _ command: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let name = unsafe name, let command = unsafe command else { return Int32(MOSQ_ERR_INVAL) }
  for number: Int32 in 1...16 {
    guard let literal = nameOfCommand(number), unsafe isSame(name, literal) else { continue }
    unsafe command.pointee = number << 4
    return Int32(MOSQ_ERR_SUCCESS)
  }
  return Int32(MOSQ_ERR_INVAL)
}

/// The index is the first half of the packet's first byte.
private func nameOfCommand(_ number: Int32) -> StaticString? {
  switch number {
  case 1: "connect"
  case 2: "connack"
  case 3: "publish"
  case 4: "puback"
  case 5: "pubrec"
  case 6: "pubrel"
  case 7: "pubcomp"
  case 8: "subscribe"
  case 10: "unsubscribe"
  case 14: "disconnect"
  case 15: "auth"
  case 16: "will"
  default: nil
  }
}

/// In libmosquitto, too, the other `MOSQ_ERR_…` have no text.
private func textOfError(_ error: Int32) -> StaticString {
  switch error {
  case -4: "Continue with authentication."
  case -3: "No subscribers."
  case -2: "Subscription already exists."
  case -1: "Connection pending."
  case 0: "No error."
  case 1: "Out of memory."
  case 2: "A network protocol error occurred when communicating with the broker."
  case 3: "Invalid function arguments provided."
  case 4: "The client is not currently connected."
  case 5: "The connection was refused."
  case 6: "Message not found (internal error)."
  case 7: "The connection was lost."
  case 8: "A TLS error occurred."
  case 9: "Payload too large."
  case 10: "This feature is not supported."
  case 11: "Authorisation failed."
  case 12: "Access denied by ACL."
  case 15: "Lookup error."
  case 16: "Proxy error."
  case 18: "Malformed UTF-8"
  case 22: "Duplicate property in property list"
  case 23: "TLS handshake failed."
  case 24: "Requested QoS not supported on server."
  case 25: "Packet larger than supported by the server."
  case 26: "OCSP error."
  default: "Unknown error."
  }
}

private func textOfConnack(_ code: Int32) -> StaticString {
  switch code {
  case 0: "Connection Accepted."
  case 1: "Connection Refused: unacceptable protocol version."
  case 2: "Connection Refused: identifier rejected."
  case 3: "Connection Refused: broker unavailable."
  case 4: "Connection Refused: bad user name or password."
  case 5: "Connection Refused: not authorised."
  default: "Connection Refused: unknown reason."
  }
}

private func textOfReason(_ code: Int32) -> StaticString {
  switch code {
  case 0: "Success"
  case 1: "Granted QoS 1"
  case 2: "Granted QoS 2"
  case 4: "Disconnect with Will Message"
  case 16: "No matching subscribers"
  case 17: "No subscription existed"
  case 24: "Continue authentication"
  case 25: "Re-authenticate"
  case 128: "Unspecified error"
  case 129: "Malformed Packet"
  case 130: "Protocol Error"
  case 131: "Implementation specific error"
  case 132: "Unsupported Protocol Version"
  case 133: "Client Identifier not valid"
  case 134: "Bad User Name or Password"
  case 135: "Not authorized"
  case 136: "Server unavailable"
  case 137: "Server busy"
  case 138: "Banned"
  case 139: "Server shutting down"
  case 140: "Bad authentication method"
  case 141: "Keep Alive timeout"
  case 142: "Session taken over"
  case 143: "Topic Filter invalid"
  case 144: "Topic Name invalid"
  case 145: "Packet Identifier in use"
  case 146: "Packet Identifier not found"
  case 147: "Receive Maximum exceeded"
  case 148: "Topic Alias invalid"
  case 149: "Packet too large"
  case 150: "Message rate too high"
  case 151: "Quota exceeded"
  case 152: "Administrative action"
  case 153: "Payload format invalid"
  case 154: "Retain not supported"
  case 155: "QoS not supported"
  case 156: "Use another server"
  case 157: "Server moved"
  case 158: "Shared Subscriptions not supported"
  case 159: "Connection rate exceeded"
  case 160: "Maximum connect time"
  case 161: "Subscription identifiers not supported"
  case 162: "Wildcard Subscriptions not supported"
  default: "Unknown reason"
  }
}
