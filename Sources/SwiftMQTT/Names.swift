import CInterface

/// Returns the name of a status code. There is a list for each band, in the order of the header.
func statusName(_ status: Int32) -> UnsafePointer<CChar>? {
  switch status {
  case 0: unsafe NameList(first: 0, count: 1, text: "SMQ_OK").name(0)
  case -199 ... -101: unsafe callNames.name(-100 - status)
  case -299 ... -201: unsafe roomNames.name(-200 - status)
  case -399 ... -301: unsafe serverNames.name(-300 - status)
  case -499 ... -401: unsafe networkNames.name(-400 - status)
  case -599 ... -501: unsafe journalNames.name(-500 - status)
  default: nil
  }
}

/// Returns the meaning of a status code as a sentence, without a capital letter and a full stop, so that it
/// fits behind a colon.
func statusText(_ status: Int32) -> UnsafePointer<CChar>? {
  switch status {
  case 0: unsafe NameList(first: 0, count: 1, text: "the call succeeded").name(0)
  case -199 ... -101: unsafe callTexts.name(-100 - status)
  case -299 ... -201: unsafe roomTexts.name(-200 - status)
  case -399 ... -301: unsafe serverTexts.name(-300 - status)
  case -499 ... -401: unsafe networkTexts.name(-400 - status)
  case -599 ... -501: unsafe journalTexts.name(-500 - status)
  default: nil
  }
}

private var callNames: NameList {
  NameList(
    first: 1, count: 18,
    text: """
      SMQ_ERR_NULL\0\
      SMQ_ERR_STRUCT_SIZE\0\
      SMQ_ERR_MEMORY_SIZE\0\
      SMQ_ERR_MEMORY_ALIGNMENT\0\
      SMQ_ERR_CLIENT\0\
      SMQ_ERR_STATE\0\
      SMQ_ERR_OPTION\0\
      SMQ_ERR_URL\0\
      SMQ_ERR_NOT_SUPPORTED\0\
      SMQ_ERR_CLIENT_ID\0\
      SMQ_ERR_QOS\0\
      SMQ_ERR_TOPIC_NAME\0\
      SMQ_ERR_UTF8\0\
      SMQ_ERR_TOO_LARGE\0\
      SMQ_ERR_TOPIC_FILTER\0\
      SMQ_ERR_PROPERTY\0\
      SMQ_ERR_TOKEN\0\
      SMQ_ERR_REASON_CODE
      """)
}

private var roomNames: NameList {
  NameList(
    first: 1, count: 5,
    text: "SMQ_ERR_FULL\0SMQ_ERR_NO_DESCRIPTOR\0SMQ_ERR_OFFLINE\0SMQ_ERR_NO_THREAD\0SMQ_ERR_INSPECT")
}

private var serverNames: NameList {
  NameList(
    first: 1, count: 12,
    text: """
      SMQ_ERR_MALFORMED\0\
      SMQ_ERR_PROTOCOL\0\
      SMQ_ERR_REFUSED\0\
      SMQ_ERR_SERVER_CLOSED\0\
      SMQ_ERR_KEEP_ALIVE\0\
      SMQ_ERR_SESSION_LOST\0\
      SMQ_ERR_RECEIVE_TOO_LARGE\0\
      SMQ_ERR_SERVER_LIMIT\0\
      SMQ_ERR_RECEIVE_MAXIMUM\0\
      SMQ_ERR_EXPIRED\0\
      SMQ_ERR_DROPPED\0\
      SMQ_ERR_REPLACED
      """)
}

private var networkNames: NameList {
  NameList(
    first: 1, count: 9,
    text: """
      SMQ_ERR_RESOLVE\0\
      SMQ_ERR_NETWORK\0\
      SMQ_ERR_CLOSED\0\
      SMQ_ERR_TIMEOUT\0\
      SMQ_ERR_STREAM\0\
      SMQ_ERR_CREDENTIALS\0\
      SMQ_ERR_TLS\0\
      SMQ_ERR_PROXY\0\
      SMQ_ERR_WEBSOCKET
      """)
}

private var journalNames: NameList {
  NameList(
    first: 1, count: 5,
    text: """
      SMQ_ERR_JOURNAL\0\
      SMQ_ERR_JOURNAL_LOCKED\0\
      SMQ_ERR_JOURNAL_CORRUPT\0\
      SMQ_ERR_JOURNAL_OTHER\0\
      SMQ_ERR_JOURNAL_SIZE
      """)
}

private var callTexts: NameList {
  NameList(
    first: 1, count: 18,
    text: """
      a pointer is NULL that must not be\0\
      the library does not know this size or a field of the struct\0\
      the block of memory is too small\0\
      the block of memory is not aligned to 8 bytes\0\
      this is not a client, or it was closed\0\
      this is not possible in the client's state\0\
      an option is out of its range, or two options contradict each other\0\
      the URL is malformed\0\
      the options, the protocol version or the server do not support this\0\
      these options do not allow this client id\0\
      the QoS is not 0, 1 or 2, or the server does not support it\0\
      the Topic Name is empty, too long, or has a wildcard\0\
      a string is not well-formed UTF-8, or contains U+0000\0\
      the packet is larger than its buffer, or than MQTT or the server allows\0\
      the Topic Filter is empty, too long, or has a misplaced wildcard\0\
      a property is malformed, out of its range, or not allowed here\0\
      nothing with this token waits\0\
      this packet must not carry this Reason Code
      """)
}

private var roomTexts: NameList {
  NameList(
    first: 1, count: 5,
    text: """
      there is no room now\0\
      the process or the system has no descriptor left\0\
      there is no connection\0\
      the system cannot create the thread\0\
      the inspection socket cannot be made
      """)
}

private var serverTexts: NameList {
  NameList(
    first: 1, count: 12,
    text: """
      the server sent a packet that cannot be parsed\0\
      the server sent a packet that is not allowed here\0\
      the server refused it\0\
      the server closed the connection with DISCONNECT\0\
      the server did not answer PINGREQ in time\0\
      the server lost the session, and it is unknown whether it has the message\0\
      the server sent more than there is room for\0\
      a limit of the server does not allow it\0\
      the server sent more unacknowledged messages than it may\0\
      the message expired before it could be sent\0\
      the message made room for a later one, or its connection ended\0\
      a later message with the same topic is sent instead
      """)
}

private var networkTexts: NameList {
  NameList(
    first: 1, count: 9,
    text: """
      the host name has no address\0\
      the network failed\0\
      the peer closed the connection without giving a reason\0\
      the time is up\0\
      the source of the payload failed in the middle of the packet\0\
      the program has no credentials\0\
      the TLS connection failed\0\
      the proxy refused, or is not a proxy\0\
      the WebSocket could not be opened, or the server broke a rule of it
      """)
}

private var journalTexts: NameList {
  NameList(
    first: 1, count: 5,
    text: """
      the journal cannot be read or written\0\
      another process, or another client, has the journal open\0\
      the journal is damaged, or the file is no journal\0\
      the journal is that of another client id, or of a newer library\0\
      the journal has more than these options have room for
      """)
}

var stageNames: NameList {
  NameList(
    first: 0, count: 13,
    text: """
      none\0\
      resolve\0\
      connect\0\
      connack\0\
      connected\0\
      keep alive\0\
      disconnect\0\
      answer\0\
      write\0\
      credentials\0\
      proxy\0\
      tls\0\
      websocket
      """)
}

var logNames: NameList {
  NameList(
    first: 1, count: 16,
    text: """
      attempt\0\
      look up\0\
      addresses\0\
      address\0\
      address failed\0\
      opened\0\
      connected\0\
      ended\0\
      waiting\0\
      ping\0\
      pong\0\
      blocked\0\
      unblocked\0\
      hint\0\
      fallback\0\
      redirected
      """)
}
