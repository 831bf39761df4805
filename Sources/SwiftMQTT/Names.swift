/// Names for consecutive numbers, one after the other, each ended by a zero.
///
/// This takes a third of the code of a `switch` over the names, and names are not needed quickly.
struct NameList {
  let first: Int32
  let count: Int32
  let text: StaticString

  /// The name of `number`; `nil` if it is not in the list. Lives as long as the library.
  ///
  /// The walk stays inside `text` because there are `count` names; a test asks for all of them.
  func name(_ number: Int32) -> UnsafePointer<CChar>? {
    guard number >= first, number - first < count else { return nil }
    var name = unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    for _ in first..<number {
      while unsafe name.pointee != 0 { unsafe name += 1 }
      unsafe name += 1
    }
    return unsafe name
  }
}

/// The status codes, a list for each band, in the order of the header.
func statusName(_ status: Int32) -> UnsafePointer<CChar>? {
  switch status {
  case 0: unsafe NameList(first: 0, count: 1, text: "SMQ_OK").name(0)
  case -199 ... -101: unsafe callNames.name(-100 - status)
  case -299 ... -201: unsafe roomNames.name(-200 - status)
  case -399 ... -301: unsafe serverNames.name(-300 - status)
  case -499 ... -401: unsafe networkNames.name(-400 - status)
  default: nil
  }
}

/// The same as a sentence, without a capital letter and a full stop, so that it fits behind a colon.
func statusText(_ status: Int32) -> UnsafePointer<CChar>? {
  switch status {
  case 0: unsafe NameList(first: 0, count: 1, text: "the call succeeded").name(0)
  case -199 ... -101: unsafe callTexts.name(-100 - status)
  case -299 ... -201: unsafe roomTexts.name(-200 - status)
  case -399 ... -301: unsafe serverTexts.name(-300 - status)
  case -499 ... -401: unsafe networkTexts.name(-400 - status)
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
    first: 1, count: 4,
    text: "SMQ_ERR_FULL\0SMQ_ERR_NO_DESCRIPTOR\0SMQ_ERR_OFFLINE\0SMQ_ERR_NO_THREAD")
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
    first: 1, count: 6,
    text: """
      SMQ_ERR_RESOLVE\0\
      SMQ_ERR_NETWORK\0\
      SMQ_ERR_CLOSED\0\
      SMQ_ERR_TIMEOUT\0\
      SMQ_ERR_STREAM\0\
      SMQ_ERR_CREDENTIALS
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
    first: 1, count: 4,
    text: """
      there is no room now\0\
      the process or the system has no descriptor left\0\
      there is no connection\0\
      the system cannot create the thread
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
    first: 1, count: 6,
    text: """
      the host name has no address\0\
      the network failed\0\
      the peer closed the connection without giving a reason\0\
      the time is up\0\
      the source of the payload failed in the middle of the packet\0\
      the program has no credentials
      """)
}

var stageNames: NameList {
  NameList(
    first: 0, count: 10,
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
      credentials
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

/// The Connect Return codes of 3.1.1 (its §3.2.2.3). Beside them there is only the 0x80 of SUBACK.
var returnCodeNames: NameList {
  NameList(
    first: 0, count: 6,
    text: """
      Connection Accepted\0\
      Unacceptable protocol version\0\
      Identifier rejected\0\
      Server unavailable\0\
      Bad user name or password\0\
      Not authorized
      """)
}

/// The Reason Codes of 5.0 below 0x80 (§2.4). 0x00 has several names; the first is given.
var successNames: NameList {
  NameList(
    first: 0, count: 26,
    text: """
      Success\0\
      Granted QoS 1\0\
      Granted QoS 2\0\
      \0\
      Disconnect with Will Message\0\
      \0\0\0\0\0\0\0\0\0\0\0\
      No matching subscribers\0\
      No subscription existed\0\
      \0\0\0\0\0\0\
      Continue authentication\0\
      Re-authenticate
      """)
}

/// Those from 0x80 on.
var refusalNames: NameList {
  NameList(
    first: 0x80, count: 35,
    text: """
      Unspecified error\0\
      Malformed Packet\0\
      Protocol Error\0\
      Implementation specific error\0\
      Unsupported Protocol Version\0\
      Client Identifier not valid\0\
      Bad User Name or Password\0\
      Not authorized\0\
      Server unavailable\0\
      Server busy\0\
      Banned\0\
      Server shutting down\0\
      Bad authentication method\0\
      Keep Alive timeout\0\
      Session taken over\0\
      Topic Filter invalid\0\
      Topic Name invalid\0\
      Packet Identifier in use\0\
      Packet Identifier not found\0\
      Receive Maximum exceeded\0\
      Topic Alias invalid\0\
      Packet too large\0\
      Message rate too high\0\
      Quota exceeded\0\
      Administrative action\0\
      Payload format invalid\0\
      Retain not supported\0\
      QoS not supported\0\
      Use another server\0\
      Server moved\0\
      Shared Subscriptions not supported\0\
      Connection rate exceeded\0\
      Maximum connect time\0\
      Subscription Identifiers not supported\0\
      Wildcard Subscriptions not supported
      """)
}

/// The rules of the header, each with the statement it comes from.
var ruleNames: NameList {
  NameList(
    first: 0, count: 31,
    text: """
      none\0\
      a field ends with its packet (section 4.13.1)\0\
      no bytes behind the last field (section 4.13.1)\0\
      Remaining Length in at most four bytes, and no more than needed [MQTT-1.5.5-1]\0\
      a packet type that a server may send (section 2.1.2)\0\
      reserved flags as listed [MQTT-2.1.3-1]\0\
      QoS is not 3 [MQTT-3.3.1-4]\0\
      no DUP with QoS 0 [MQTT-3.3.1-2]\0\
      a Packet Identifier is not 0 (section 2.2.1)\0\
      well-formed UTF-8 without U+0000 [MQTT-1.5.4-1] [MQTT-1.5.4-2]\0\
      a Variable Byte Integer in as few bytes as possible [MQTT-1.5.5-1]\0\
      no wildcard in a Topic Name [MQTT-3.3.2-2]\0\
      a Topic Name of at least one character, or a Topic Alias [MQTT-4.7.3-1]\0\
      reserved Connect Acknowledge Flags are 0 [MQTT-3.2.2-1]\0\
      a Reason Code that this packet may carry (section 2.4)\0\
      no Session Present with a refusal [MQTT-3.2.2-6]\0\
      a property that exists (section 2.2.2.2)\0\
      a property that this packet may carry (Table 2-4)\0\
      a property at most once (section 2.2.2.2)\0\
      a property's value in its range (Table 2-4)\0\
      an Authentication Method in AUTH (section 3.15.2.2.2)\0\
      a packet that a server may send now (section 4.13.1)\0\
      CONNACK, or AUTH, comes first [MQTT-3.2.0-1]\0\
      no Session Present after a Clean Start [MQTT-3.2.2-2]\0\
      an acknowledgement fits what it acknowledges (section 4.3)\0\
      a Reason Code for each Topic Filter [MQTT-3.8.4-6] [MQTT-3.11.3-1]\0\
      no Topic Alias above Topic Alias Maximum (section 3.3.2.3.4)\0\
      a Topic Alias that stands for a topic (section 3.3.2.3.4)\0\
      no more unacknowledged messages than Receive Maximum [MQTT-3.3.4-9]\0\
      no packet above Maximum Packet Size [MQTT-3.1.2-24], or the receive buffer\0\
      AUTH when it was asked for, with the method of CONNECT [MQTT-4.12.0-5] [MQTT-4.12.0-6]
      """)
}
