/// Why bytes from the server are no frame, or none that a server may send. The connection ends: the protocol has no
/// way to tell a server.
public enum MalformedFrame: UInt8, Error, BitwiseCopyable, Sendable {
  case command  // none of CONNECTED, MESSAGE, RECEIPT and ERROR
  case header  // a line without a colon, or with nothing before it
  case null  // a zero in the headers
  case utf8  // "Value Encoding": commands and headers are UTF-8
  case escape  // "Value Encoding": an undefined escape sequence
  case contentLength  // "Header content-length": no number, or more than fits
  case bodyEnd  // "Header content-length": no zero behind the body
  case missingHeader  // a header that the frame has to have
  case version  // "Protocol Negotiation": CONNECTED has a version that was not asked for
  case heartBeat  // "Heart-beating": not two numbers with a comma
  case order  // CONNECTED is the first frame, and comes once
}
