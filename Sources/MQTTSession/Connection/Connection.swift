import MQTTWire
import Storage

/// What dies with a connection: a new one begins with one assignment. What outlives it is `SessionState`.
struct Connection: BitwiseCopyable {
  enum Phase: BitwiseCopyable, Equatable {
    case disconnected
    case sendingConnect
    case awaitingConnack
    case connected
    /// The transport is gone, but what it brought is still being handed out.
    case peerClosed
    /// Nothing more is accepted from the server; what is in the control queue still goes out.
    case closing(after: Stage)

    enum Stage: BitwiseCopyable { case connecting, connected, peerClosed }
  }

  /// Where the bytes to be transmitted lie.
  enum Source: BitwiseCopyable {
    case none, connect, control, subscribe, urgent, window, restOfPacket, stream
  }

  /// What DISCONNECT is to say once all is drained.
  struct PendingDisconnect: BitwiseCopyable {
    let reasonCode: UInt8
    /// How many bytes of properties.
    let propertyBytes: Int
    /// Where among them the Session Expiry Interval is.
    let sessionExpiry: ByteRange
  }

  // One byte: with a payload of its own each look at it would be two.
  var phase: Phase
  /// How many bytes of CONNECT are out.
  var connectSent = 0
  var source = Source.none
  /// The application asked to leave: nothing new is taken.
  var pendingDisconnect: PendingDisconnect? = nil
  var authentication = AuthenticationState.none
  /// Whether all has come that the server had to say to a backlog: see Session+Backlog.swift.
  var roundTrip = Session.RoundTrip.none
  var limits = ServerLimits()
  var quota = SendQuota()
  var keepAlive: KeepAlive
  var ackTimeout: AckTimeout
  /// What is left to be sent of the payload in the stream buffer.
  var stream = ByteRange.empty

  init(_ phase: Phase, pingTimeout: UInt32, ackTimeout: UInt32) {
    self.phase = phase
    keepAlive = KeepAlive(pingTimeout: pingTimeout)
    self.ackTimeout = AckTimeout(timeout: ackTimeout)
  }

  /// A new one: nothing of this one is left but what the options say.
  func next(_ phase: Phase) -> Connection {
    Connection(phase, pingTimeout: keepAlive.pingTimeout, ackTimeout: ackTimeout.timeout)
  }

  /// CONNACK accepted this connection, and what it brought may still be handed out.
  var isUp: Bool {
    @inline(__always) get { phase == .connected || phase == .peerClosed }
  }

  /// CONNACK accepted this connection, whatever has become of it since.
  var wasAccepted: Bool {
    switch phase {
    case .connected, .peerClosed, .closing(after: .connected), .closing(after: .peerClosed): true
    default: false
    }
  }

  /// Nothing more is accepted from the server; what is queued already may still go out.
  var isClosing: Bool { if case .closing = phase { true } else { false } }

  /// Packets from the server are looked at.
  var isReceiving: Bool {
    @inline(__always) get { isUp || phase == .awaitingConnack }
  }

  /// From now on only what is queued already goes out.
  mutating func beginClosing() {
    switch phase {
    case .disconnected, .sendingConnect, .awaitingConnack: phase = .closing(after: .connecting)
    case .connected: phase = .closing(after: .connected)
    case .peerClosed: phase = .closing(after: .peerClosed)
    case .closing: break
    }
  }
}
