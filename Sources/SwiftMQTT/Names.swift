/// Names for consecutive numbers, one behind the other, each ended by a zero.
///
/// A third of the code a `switch` over the names would take: nobody is in a hurry for them.
struct NameList {
  let first: Int32
  let count: Int32
  let text: StaticString

  /// The name of `number`; `nil` if it is not in the list. Lives as long as the library.
  ///
  /// That there are `count` names is what keeps the walk inside `text`; a test asks for all of them.
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

/// The status codes, a list for each band; in the order of the header.
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

private var callNames: NameList {
  NameList(
    first: 1, count: 14,
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
      SMQ_ERR_TOO_LARGE
      """)
}

private var roomNames: NameList {
  NameList(first: 1, count: 2, text: "SMQ_ERR_FULL\0SMQ_ERR_NO_DESCRIPTOR")
}

private var serverNames: NameList {
  NameList(
    first: 1, count: 8,
    text: """
      SMQ_ERR_MALFORMED\0\
      SMQ_ERR_PROTOCOL\0\
      SMQ_ERR_REFUSED\0\
      SMQ_ERR_SERVER_CLOSED\0\
      SMQ_ERR_KEEP_ALIVE\0\
      SMQ_ERR_SESSION_LOST\0\
      SMQ_ERR_RECEIVE_TOO_LARGE\0\
      SMQ_ERR_SERVER_LIMIT
      """)
}

private var networkNames: NameList {
  NameList(
    first: 1, count: 4,
    text: """
      SMQ_ERR_RESOLVE\0\
      SMQ_ERR_NETWORK\0\
      SMQ_ERR_CLOSED\0\
      SMQ_ERR_TIMEOUT
      """)
}

var stageNames: NameList {
  NameList(
    first: 0, count: 7,
    text: """
      none\0\
      resolve\0\
      connect\0\
      connack\0\
      connected\0\
      keep alive\0\
      disconnect
      """)
}

/// The Connect Return codes of 3.1.1 (its §3.2.2.3).
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
