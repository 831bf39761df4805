import MQTTWire
import Storage

/// What lasts as long as a connection: a new one begins with one assignment. What outlives it is
/// `SessionState`.
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

  // It takes one byte: with a payload of its own, each comparison would take two.
  var phase: Phase
  /// How many bytes of CONNECT are out.
  var connectSent = 0
  var source = Source.none
  /// The application asked to disconnect: no more messages are accepted.
  var pendingDisconnect: PendingDisconnect? = nil
  var authentication = AuthenticationState.none
  /// Whether the server has sent all it has of a backlog: see Session+Backlog.swift.
  var backlogPing = Session.BacklogPing.none
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

  /// Returns a new connection, which keeps only the options of this one.
  func next(_ phase: Phase) -> Connection {
    Connection(phase, pingTimeout: keepAlive.pingTimeout, ackTimeout: ackTimeout.timeout)
  }

  /// Whether CONNACK accepted this connection, and what it brought may still be handed out.
  var isUp: Bool {
    @inline(__always) get { phase == .connected || phase == .peerClosed }
  }

  /// Whether CONNACK accepted this connection, whatever has become of it since.
  var wasAccepted: Bool {
    switch phase {
    case .connected, .peerClosed, .closing(after: .connected), .closing(after: .peerClosed): true
    default: false
    }
  }

  /// Nothing more is accepted from the server; what is queued already may still go out.
  var isClosing: Bool { if case .closing = phase { true } else { false } }

  /// Whether packets from the server are parsed.
  var isReceiving: Bool {
    @inline(__always) get { isUp || phase == .awaitingConnack }
  }

  /// Begins to close the connection: from now on only queued control packets are sent.
  mutating func beginClosing() {
    switch phase {
    case .disconnected, .sendingConnect, .awaitingConnack: phase = .closing(after: .connecting)
    case .connected: phase = .closing(after: .connected)
    case .peerClosed: phase = .closing(after: .peerClosed)
    case .closing: break
    }
  }
}
