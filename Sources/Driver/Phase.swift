import Storage

/// Where the driver is. Facts that hold in one phase only belong to it, and are gone with it.
enum Phase: BitwiseCopyable {
  case disconnected
  /// It waits for the time of the next attempt; `since`: when the last one, or a connection, ended.
  case waiting(since: Instant)
  /// It waits for the application's credentials.
  case authorizing(pendingQuery: Query?)
  /// The transport opens.
  case opening(pendingQuery: Query?)
  case open(OpenConnection)
  /// Everything is sent; the server's side is still open.
  case closing

  /// What the application is to be asked, until it takes the event.
  var pendingQuery: Query? {
    guard Feature.hasQuestions || Feature.hasEngine else { return nil }
    switch self {
    case .authorizing(let query), .opening(let query): return query
    default: return nil
    }
  }

  var hasPendingQuery: Bool {
    guard Feature.hasQuestions || Feature.hasEngine else { return false }
    switch self {
    case .disconnected, .waiting, .open, .closing: return false
    case .authorizing(let query), .opening(let query): return query != nil
    }
  }

  var isDisconnected: Bool { if case .disconnected = self { true } else { false } }
  var isOpening: Bool { if case .opening = self { true } else { false } }
}

enum Query: BitwiseCopyable { case credentials, addresses, transport }

struct OpenConnection: BitwiseCopyable {
  enum Leaving: BitwiseCopyable {
    case not
    /// When all is sent and acknowledged, or the timer `leave` is due.
    case drained
    case atOnce
  }

  var isLeaving: Bool { leaving != .not }

  /// The system takes no more bytes for now.
  var isBlocked = false
  var receiveWatch = ReceiveWatch.off
  /// How the application wants to leave.
  var leaving = Leaving.not
  /// The transport is gone, but what it brought is still to be handed out.
  var transportError: FailureCause? = nil
}

/// Whether the system tells of something to receive.
///
/// To stop and to start telling are a system call each, and mostly the program takes its events, and so makes
/// space, before the system is asked again. So it goes on telling while there is no space, until it has done so
/// twice: then the program is slow, or something else is full, and the descriptor has to be silent.
enum ReceiveWatch: UInt8, BitwiseCopyable {
  case off
  case on
  case toldInVain

  func next(wantsReceive: Bool, isToldInVain: Bool) -> ReceiveWatch {
    if wantsReceive { return .on }
    guard isToldInVain else { return self }
    return self == .on ? .toldInVain : .off
  }
}
