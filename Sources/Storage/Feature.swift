/// What this build of the library has. cmake/features.txt lists what can be left out; the small profile
/// leaves all of it out.
///
/// Where a feature begins, the code asks here. The answer is a constant, so every build is checked alike, and
/// what a build does not have is dropped from it: branches by the optimiser, functions by the linker.
public enum Feature {
  /// Protocol version 3.1.
  #if WITHOUT_MQTT_3_1
    @inline(__always) public static var hasMQTT31: Bool { false }
  #else
    @inline(__always) public static var hasMQTT31: Bool { true }
  #endif
  /// An older protocol version, where the server does not speak the newer one.
  #if WITHOUT_FALLBACK
    @inline(__always) public static var hasFallback: Bool { false }
  #else
    @inline(__always) public static var hasFallback: Bool { true }
  #endif
  /// A journal: what was accepted survives a power cut.
  #if WITHOUT_JOURNAL
    @inline(__always) public static var hasJournal: Bool { false }
  #else
    @inline(__always) public static var hasJournal: Bool { true }
  #endif
  /// Topic Aliases, in both directions (§3.3.2.3.4).
  #if WITHOUT_TOPIC_ALIASES
    @inline(__always) public static var hasTopicAliases: Bool { false }
  #else
    @inline(__always) public static var hasTopicAliases: Bool { true }
  #endif
  /// Messages that end when their time is up (§3.3.2.3.3).
  #if WITHOUT_EXPIRY
    @inline(__always) public static var hasExpiry: Bool { false }
  #else
    @inline(__always) public static var hasExpiry: Bool { true }
  #endif
  /// Payloads that are written into the outbox by the program.
  #if WITHOUT_RESERVE
    @inline(__always) public static var hasReserve: Bool { false }
  #else
    @inline(__always) public static var hasReserve: Bool { true }
  #endif
  /// Payloads that are supplied while they are sent.
  #if WITHOUT_STREAMS
    @inline(__always) public static var hasStreams: Bool { false }
  #else
    @inline(__always) public static var hasStreams: Bool { true }
  #endif
  /// Payloads that stay in the program's memory.
  #if WITHOUT_REFERENCES
    @inline(__always) public static var hasReferences: Bool { false }
  #else
    @inline(__always) public static var hasReferences: Bool { true }
  #endif
  /// Received messages larger than the receive buffer, in parts.
  #if WITHOUT_PARTS
    @inline(__always) public static var hasParts: Bool { false }
  #else
    @inline(__always) public static var hasParts: Bool { true }
  #endif
  /// Requests that wait for their reply (§4.10).
  #if WITHOUT_REPLIES
    @inline(__always) public static var hasReplies: Bool { false }
  #else
    @inline(__always) public static var hasReplies: Bool { true }
  #endif
  /// The priority queue.
  #if WITHOUT_URGENT
    @inline(__always) public static var hasUrgent: Bool { false }
  #else
    @inline(__always) public static var hasUrgent: Bool { true }
  #endif
  /// Overflow policies: what makes room in a full outbox.
  #if WITHOUT_OVERFLOW
    @inline(__always) public static var hasOverflow: Bool { false }
  #else
    @inline(__always) public static var hasOverflow: Bool { true }
  #endif
  /// The table of handlers.
  #if WITHOUT_HANDLERS
    @inline(__always) public static var hasHandlers: Bool { false }
  #else
    @inline(__always) public static var hasHandlers: Bool { true }
  #endif
  /// Enhanced authentication (§4.12).
  #if WITHOUT_AUTHENTICATION
    @inline(__always) public static var hasAuthentication: Bool { false }
  #else
    @inline(__always) public static var hasAuthentication: Bool { true }
  #endif
  /// Following a server that points to another one (§4.11).
  #if WITHOUT_REDIRECT
    @inline(__always) public static var hasRedirect: Bool { false }
  #else
    @inline(__always) public static var hasRedirect: Bool { true }
  #endif
  /// Connecting to several addresses of a host at a time.
  #if WITHOUT_RACE
    @inline(__always) public static var hasRace: Bool { false }
  #else
    @inline(__always) public static var hasRace: Bool { true }
  #endif
  /// Credentials and addresses that the program is asked for.
  #if WITHOUT_QUESTIONS
    @inline(__always) public static var hasQuestions: Bool { false }
  #else
    @inline(__always) public static var hasQuestions: Bool { true }
  #endif
  /// The log of what the client does.
  #if WITHOUT_LOG
    @inline(__always) public static var hasLog: Bool { false }
  #else
    @inline(__always) public static var hasLog: Bool { true }
  #endif
  /// Who looks at the packets that go over the connection.
  #if WITHOUT_TAP
    @inline(__always) public static var hasTap: Bool { false }
  #else
    @inline(__always) public static var hasTap: Bool { true }
  #endif
  /// Which options are at fault, and events in words.
  #if WITHOUT_WORDS
    @inline(__always) public static var hasWords: Bool { false }
  #else
    @inline(__always) public static var hasWords: Bool { true }
  #endif
  /// Clients whose program carries the bytes and tells the time.
  #if WITHOUT_ENGINE
    @inline(__always) public static var hasEngine: Bool { false }
  #else
    @inline(__always) public static var hasEngine: Bool { true }
  #endif
  /// A thread that runs a client.
  #if WITHOUT_RUNNER
    @inline(__always) public static var hasRunner: Bool { false }
  #else
    @inline(__always) public static var hasRunner: Bool { true }
  #endif
  /// One descriptor and one deadline for many clients.
  #if WITHOUT_GROUP
    @inline(__always) public static var hasGroup: Bool { false }
  #else
    @inline(__always) public static var hasGroup: Bool { true }
  #endif
  /// The most frequent packets and events in a specialisation of their own.
  #if WITHOUT_FAST_PATHS
    @inline(__always) public static var hasFastPaths: Bool { false }
  #else
    @inline(__always) public static var hasFastPaths: Bool { true }
  #endif
  /// Messages of other threads.
  #if WITHOUT_SUBMIT
    @inline(__always) public static var hasSubmit: Bool { false }
  #else
    @inline(__always) public static var hasSubmit: Bool { true }
  #endif
  /// WebSocket (§6).
  #if WITHOUT_WEBSOCKET
    @inline(__always) public static var hasWebSocket: Bool { false }
  #else
    @inline(__always) public static var hasWebSocket: Bool { true }
  #endif
  /// Proxies: SOCKS5, and CONNECT of HTTP.
  #if WITHOUT_PROXY
    @inline(__always) public static var hasProxy: Bool { false }
  #else
    @inline(__always) public static var hasProxy: Bool { true }
  #endif
  /// Sockets in the file system.
  #if WITHOUT_UNIX
    @inline(__always) public static var hasUnix: Bool { false }
  #else
    @inline(__always) public static var hasUnix: Bool { true }
  #endif
}
