import Journal

/// How far the delivery of a message has come, as far as the journal has to know.
extension StoredMessages.State {
  /// It has a Packet Identifier that no longer changes. A message that is `queued` can still get another one.
  @inline(__always) static var bound: Self { Self(3) }
  /// PUBREC came.
  @inline(__always) static var released: Self { Self(4) }
}
