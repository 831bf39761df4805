import MQTTSession
import MQTTWire
import Storage

/// Another server that a server points to (§4.11): 0x9C Use another server, for now; 0x9D Server moved, for good.
struct Redirect: BitwiseCopyable {
  /// A name, and a zero.
  static var hostSize: Int { 254 }
  /// Servers that point to each other: after so many, without a connection that lasted, the round goes on.
  static var hops: UInt32 { 4 }

  /// The next attempt, or the connection, is with it.
  var isInUse = false
  /// A connection to it comes first in later rounds, too.
  private var isForGood = false
  private var followed: UInt32 = 0

  /// A server pointed there. False: that has been enough.
  mutating func follow(_ reasonCode: UInt8) -> Bool {
    guard followed < Self.hops else { return false }
    followed &+= 1
    isInUse = true
    isForGood = reasonCode == ReasonCode.serverMoved.rawValue
    return true
  }

  /// The connection has lasted.
  mutating func isGood() { followed = 0 }

  /// The attempt, or the connection, has ended.
  mutating func ended(hasLasted: Bool) { isInUse = isInUse && isForGood && hasLasted }
}

extension Client where System: ~Copyable {
  /// Takes the server down that an ending points to. False: none, or not to be followed.
  mutating func follow(_ failure: Failure) -> Bool {
    guard followsRedirects, let reasonCode = failure.reasonCode, !failure.serverReference.isEmpty,
      reasonCode == ReasonCode.useAnotherServer.rawValue || reasonCode == ReasonCode.serverMoved.rawValue
    else { return false }
    guard Self.note(failure.serverReference, from: session, in: &servers, defaultPort: defaultPort) else {
      return false
    }
    return redirect.follow(reasonCode)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func note(
    _ reference: ByteRange, from session: borrowing Session, in servers: inout ServerTable,
    defaultPort: UInt16
  ) -> Bool {
    let text = session.receivedBytes.extracting(reference.range)
    guard let url = try? ServerURL(reference: text) else { return false }
    let (host, port) = (url.servers.host(0), url.servers.port(0))
    guard host.count < Redirect.hostSize else { return false }
    servers.set(servers.count, text.extracting(host.range), port: port == 0 ? defaultPort : port)
    return true
  }
}
