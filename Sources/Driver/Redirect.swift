import Platform
import Storage

/// Another server that a server points to, for now or for good.
struct Redirect: BitwiseCopyable {
  /// A name, and a zero.
  static var hostSize: Int { 254 }
  /// Servers may point to each other. After so many referrals without a connection that lasted, the round
  /// goes on.
  static var hops: UInt8 { 4 }

  private var isFollowed = false
  /// A connection to it comes first in later rounds, too.
  private var isPermanent = false
  private var followed: UInt8 = 0

  /// The next attempt, or the connection, is with it.
  var isInUse: Bool { Feature.hasRedirect && isFollowed }

  /// A server points to another one. False: enough of them were followed.
  mutating func follow(isPermanent: Bool) -> Bool {
    guard followed < Self.hops else { return false }
    followed &+= 1
    isFollowed = true
    self.isPermanent = isPermanent
    return true
  }

  /// The connection has lasted.
  mutating func markGood() { followed = 0 }

  /// The attempt, or the connection, has ended.
  mutating func ended(hasLasted: Bool) { isFollowed = isInUse && isPermanent && hasLasted }
}

extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Stores the server that the end of a connection points to. False: there is none, or it is not followed.
  mutating func follow(_ failure: Failure) -> Bool {
    guard Feature.hasRedirect, followsReferrals, let details = failure.details,
      let referral = engine.referral(in: details),
      Self.put(
        referral.reference, of: engine, into: &servers, on: &system, defaultPort: defaultPort)
    else { return false }
    return redirect.follow(isPermanent: referral.isPermanent)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func put(
    _ reference: ByteRange, of engine: borrowing Engine, into servers: inout ServerTable,
    on system: inout System, defaultPort: UInt16
  ) -> Bool {
    let text = engine.receivedBytes.extracting(reference.range)
    guard let url = try? ServerURL(reference: text) else { return false }
    let (host, port) = (url.servers.host(0), url.servers.port(0))
    guard host.count < Redirect.hostSize else { return false }
    // A look-up under way may be that of another server that was pointed to before.
    if servers.set(servers.count, text.extracting(host.range), port: port == 0 ? defaultPort : port) {
      system.cancelResolving()
    }
    return true
  }
}
