// What to say about options that the library refuses.

/// Whether the library refuses options that are those of localhost but for this.
func isWrongAlone(_ set: (inout ClientOptions) -> Void) -> Bool {
  var alone = ClientOptions()
  alone.host = ascii("localhost")
  set(&alone)
  return Library.check(alone).status != Status.ok
}

/// The option that the library refuses by itself, too, and what it has to be like. Its error does not say which it is.
func wrongAlone(_ options: ClientOptions) -> ExitError? {
  let isUnix = options.host.first == 47
  let suspects: [(text: StaticString, isWrong: Bool)] = [
    ("--unix: a path has at most 107 bytes", isUnix && isWrongAlone { $0.host = options.host }),
    ("-h: the name is too long", !options.host.isEmpty && isWrongAlone { $0.host = options.host }),
    (
      "--proxy: the form is socks5h://[USER[:PASSWORD]@]HOST[:PORT] or http://[USER[:PASSWORD]@]HOST[:PORT]",
      isWrongAlone { $0.proxy = options.proxy }
    ),
    ("--interface: a name has at most 15 letters", isWrongAlone { $0.bindDevice = options.bindDevice }),
    (
      "--tls-name: this is not a name",
      options.tls != nil && isWrongAlone { ($0.tls, $0.tlsName) = (options.tls, options.tlsName) }
    ),
    (
      "--tls-alpn: a name has at most 255 bytes",
      options.tls != nil && isWrongAlone { ($0.tls, $0.alpn) = (options.tls, options.alpn) }
    ),
    (
      "--ws-path: a path is ASCII without spaces, at most 4096 bytes",
      isWrongAlone {
        if !options.webSocketPath.isEmpty { $0.flags |= Library.webSocket }
        $0.webSocketPath = options.webSocketPath
      }
    ),
    (
      "--ws-header: these are no lines of ASCII, or they are longer than 8192 bytes together",
      !options.webSocketHeaders.isEmpty
        && isWrongAlone { ($0.flags, $0.webSocketHeaders) = (Library.webSocket, options.webSocketHeaders) }
    ),
    (
      "--ws-protocol: these are no names of subprotocols with ', ' in between",
      !options.webSocketProtocol.isEmpty
        && isWrongAlone { ($0.flags, $0.webSocketProtocol) = (Library.webSocket, options.webSocketProtocol) }
    ),
  ]
  return suspects.first { $0.isWrong }.map { usageError(Text($0.text.bytes)) }
}
