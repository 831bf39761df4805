// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 1, and sst_log_name() of chapter 13: names and texts. There is a list for each range of status
// codes, in the order of the header; a number that is not used has an empty name.

import CInterface
public import CSwiftSTOMP
import Storage

@c @implementation
public func sst_version() -> UInt32 {
  UInt32(SST_VERSION_MAJOR) << 16 | UInt32(SST_VERSION_MINOR) << 8 | UInt32(SST_VERSION_PATCH)
}

@c @implementation
public func sst_status_name(_ status: Int32) -> UnsafePointer<CChar>? {
  unsafe find(status, "SST_OK", callNames, roomNames, serverNames, networkNames, journalNames)
    ?? text("unknown status")
}

@c @implementation
public func sst_status_text(_ status: Int32) -> UnsafePointer<CChar>? {
  unsafe find(status, "the call succeeded", callTexts, roomTexts, serverTexts, networkTexts, journalTexts)
    ?? text("the status is unknown")
}

@c @implementation
public func sst_stage_name(_ stage: Int32) -> UnsafePointer<CChar>? {
  unsafe stageNames.name(stage) ?? text("unknown stage")
}

@c @implementation
public func sst_rule_name(_ rule: Int32) -> UnsafePointer<CChar>? {
  unsafe ruleNames.name(rule) ?? text("unknown rule")
}

@c @implementation
public func sst_tls_cause_name(_ cause: Int32) -> UnsafePointer<CChar>? {
  unsafe tlsCauseNames.name(cause) ?? text("unknown cause")
}

@c @implementation
public func sst_log_name(_ what: Int32) -> UnsafePointer<CChar>? {
  guard let name = unsafe logNames.name(what), unsafe name.pointee != 0 else { return unsafe text("unknown") }
  return unsafe name
}

/// A literal ends with a zero and lives as long as the library.
func text(_ literal: StaticString) -> UnsafePointer<CChar>? {
  unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
}

private func find(
  _ status: Int32, _ success: StaticString, _ call: NameList, _ room: NameList, _ server: NameList,
  _ network: NameList, _ journal: NameList
) -> UnsafePointer<CChar>? {
  let name =
    switch status {
    case 0: unsafe text(success)
    case -199 ... -101: unsafe call.name(-100 - status)
    case -299 ... -201: unsafe room.name(-200 - status)
    case -399 ... -301: unsafe server.name(-300 - status)
    case -499 ... -401: unsafe network.name(-400 - status)
    case -599 ... -501: unsafe journal.name(-500 - status)
    default: unsafe nil as UnsafePointer<CChar>?
    }
  guard let name = unsafe name, unsafe name.pointee != 0 else { return nil }
  return unsafe name
}

private var callNames: NameList {
  NameList(
    first: 1, count: 21,
    text: """
      SST_ERR_NULL\0\
      SST_ERR_STRUCT_SIZE\0\
      SST_ERR_MEMORY_SIZE\0\
      SST_ERR_MEMORY_ALIGNMENT\0\
      SST_ERR_CLIENT\0\
      SST_ERR_STATE\0\
      SST_ERR_OPTION\0\
      SST_ERR_URL\0\
      SST_ERR_NOT_SUPPORTED\0\
      \0\
      \0\
      SST_ERR_DESTINATION\0\
      \0\
      SST_ERR_TOO_LARGE\0\
      \0\
      SST_ERR_HEADER\0\
      SST_ERR_TOKEN\0\
      \0\
      SST_ERR_SUBSCRIPTION\0\
      SST_ERR_TRANSACTION\0\
      SST_ERR_BODY
      """)
}

private var roomNames: NameList {
  NameList(
    first: 1, count: 5, text: "SST_ERR_FULL\0SST_ERR_NO_DESCRIPTOR\0\0SST_ERR_NO_THREAD\0SST_ERR_INSPECT")
}

private var serverNames: NameList {
  NameList(
    first: 1, count: 11,
    text: """
      SST_ERR_MALFORMED\0\
      \0\
      SST_ERR_REFUSED\0\
      SST_ERR_SERVER_CLOSED\0\
      SST_ERR_HEART_BEAT\0\
      SST_ERR_UNKNOWN\0\
      SST_ERR_RECEIVE_TOO_LARGE\0\
      SST_ERR_SERVER_LIMIT\0\
      \0\
      \0\
      SST_ERR_DROPPED
      """)
}

private var networkNames: NameList {
  NameList(
    first: 1, count: 9,
    text: """
      SST_ERR_RESOLVE\0\
      SST_ERR_NETWORK\0\
      SST_ERR_CLOSED\0\
      SST_ERR_TIMEOUT\0\
      \0\
      SST_ERR_CREDENTIALS\0\
      SST_ERR_TLS\0\
      SST_ERR_PROXY\0\
      SST_ERR_WEBSOCKET
      """)
}

private var journalNames: NameList {
  NameList(
    first: 1, count: 5,
    text: """
      SST_ERR_JOURNAL\0\
      SST_ERR_JOURNAL_LOCKED\0\
      SST_ERR_JOURNAL_CORRUPT\0\
      SST_ERR_JOURNAL_OTHER\0\
      SST_ERR_JOURNAL_SIZE
      """)
}

private var callTexts: NameList {
  NameList(
    first: 1, count: 21,
    text: """
      a pointer is NULL that must not be\0\
      the library does not know this size or a field of the struct\0\
      the block of memory is too small\0\
      the block of memory is not aligned to 8 bytes\0\
      this is not a client, or it was closed\0\
      this is not possible in the client's state\0\
      an option is out of its range, or two options contradict each other\0\
      the URL is malformed\0\
      the scheme is unknown, TLS has no engine, or the version does not have this\0\
      \0\
      \0\
      the destination is empty, or no text that a header may have\0\
      \0\
      the frame is larger than its room\0\
      \0\
      a header is malformed, or one that the library writes itself\0\
      nothing with this token waits\0\
      \0\
      there is no such subscription\0\
      there is no such transaction, or it was of an earlier connection\0\
      a body without a content-length has a zero
      """)
}

private var roomTexts: NameList {
  NameList(
    first: 1, count: 5,
    text: """
      there is no room now\0\
      the process or the system has no descriptor left\0\
      \0\
      the system cannot create the thread\0\
      the inspection socket cannot be made
      """)
}

private var serverTexts: NameList {
  NameList(
    first: 1, count: 11,
    text: """
      the server sent what is no frame, or none that is allowed here\0\
      \0\
      the server refused it\0\
      the server sent ERROR, which ends the connection\0\
      the server was silent for two and a half times the time of its heart-beats\0\
      the connection ended before the receipt came: the server may have it, or not\0\
      the server sent more than there is room for\0\
      the version that the server has chosen does not have this\0\
      \0\
      \0\
      its connection ended before it was sent, or it made room for a later one
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
      \0\
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
      there is no journal, or it cannot be read or written\0\
      another process, or another client, has the journal open\0\
      the journal is damaged, or the file is no journal\0\
      the journal is one of libswiftmqtt, or of a newer library\0\
      the journal has more than these options have room for
      """)
}

private var stageNames: NameList {
  NameList(
    first: 0, count: 13,
    text: """
      none\0\
      resolve\0\
      connect\0\
      accept\0\
      connected\0\
      heart-beat\0\
      disconnect\0\
      receipt\0\
      write\0\
      credentials\0\
      proxy\0\
      tls\0\
      websocket
      """)
}

private var ruleNames: NameList {
  NameList(
    first: 0, count: 12,
    text: """
      none\0\
      a command is CONNECTED, MESSAGE, RECEIPT or ERROR\0\
      a header line has a name and a colon\0\
      headers have no zeros\0\
      headers are UTF-8\0\
      escape sequences are those of the version\0\
      content-length is a number\0\
      a zero follows the body\0\
      a frame has its headers\0\
      the version is one that was offered\0\
      heart-beat is two numbers\0\
      CONNECTED comes first, and once
      """)
}

/// SST_EVENT_…; between 6 and 11 there is none.
var eventNames: NameList {
  NameList(
    first: 0, count: 15,
    text: """
      NONE\0\
      CONNECTED\0\
      DISCONNECTED\0\
      COMPLETED\0\
      ROOM\0\
      MESSAGE\0\
      TRANSACTIONS_LOST\0\
      \0\
      \0\
      \0\
      \0\
      CREDENTIALS\0\
      ADDRESSES\0\
      OPEN\0\
      JOURNAL
      """)
}

/// SST_JOURNAL_….
var journalEventNames: NameList {
  NameList(first: 101, count: 4, text: "RECOVERED\0FAILED\0HEALED\0STORED")
}

/// SST_COMPLETED_….
var completedNames: NameList {
  NameList(
    first: 1, count: 5, text: "SEND\0SUBSCRIBE\0UNSUBSCRIBE\0COMMIT\0ABORT")
}

/// SST_LOG_…; 10 and 11 are none.
private var logNames: NameList {
  NameList(
    first: 1, count: 14,
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
      \0\
      \0\
      blocked\0\
      unblocked\0\
      hint
      """)
}
