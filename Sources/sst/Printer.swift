import CSwiftSTOMP

/// Prints messages according to -v, -F, -N and --pretty.
final class Printer {
  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  /// Throws if the message can't be printed as it was asked for: then it is not acknowledged.
  func print(_ message: Event, to output: Output) throws(ExitError) {
    if let format = arguments.format {
      try formatted(message, format, to: output)
    } else {
      if arguments.verbose { output.write(shown(message.destination, output) + [32]) }
      output.write(shown(message.payload, output))
    }
    if arguments.newline { output.write(10) }
  }

  /// Scripts get what arrived, byte for byte; a terminal gets nothing that it would interpret.
  private func shown(_ bytes: [UInt8], _ output: Output) -> [UInt8] {
    output.isTerminal ? bytes.onTerminal : bytes
  }

  private func formatted(
    _ message: Event, _ format: [Format.Piece], to output: Output
  ) throws(ExitError) {
    let now = System.wall
    for piece in format {
      switch piece {
      case .text(let text): output.write(text)
      case .time(78): output.write(decimal(Int64(now.nanoseconds), digits: 9))
      case .time(let letter): output.write(System.time(letter, now.seconds))
      case .field(let letter, let field):
        output.write(shown(try value(letter, field, message, now, output), output))
      }
    }
  }

  private func value(
    _ letter: UInt8, _ field: Format.Field, _ message: Event, _ now: (seconds: Int64, nanoseconds: Int32),
    _ output: Output
  ) throws(ExitError) -> [UInt8] {
    switch letter {
    case 73: return field.cut(System.dateAndTime(now.seconds))  // I
    case 74: return try json(message, now, isQuoted: false, output)  // J
    case 85: return Text("\(now.seconds).\(decimal(Int64(now.nanoseconds), digits: 9))").bytes  // U
    case 88: return field.hexadecimal(message.payload, "0123456789ABCDEF")  // X
    case 98:  // b: the width is the most, too
      return field.pad(field.width == 0 ? message.payload : Array(message.payload.prefix(field.width)))
    case 99: return field.cut(message.contentType)  // c
    case 100: return field.cut(message.destination)  // d
    case 104: return headers(message)  // h
    case 105: return field.cut(message.messageID)  // i
    case 106: return try json(message, now, isQuoted: true, output)  // j
    case 108: return field.pad(decimal(Int64(message.payload.count)))  // l
    default: return field.hexadecimal(message.payload, "0123456789abcdef")  // x
    }
  }

  /// "name:value", with spaces in between; line ends are escaped, as in the frame.
  private func headers(_ message: Event) -> [UInt8] {
    var result: [UInt8] = []
    for header in message.headers {
      if !result.isEmpty { result.append(32) }
      result += (header.name + [58] + header.value).escaped
    }
    return result
  }

  private func json(
    _ message: Event, _ now: (seconds: Int64, nanoseconds: Int32), isQuoted: Bool, _ output: Output
  ) throws(ExitError) -> [UInt8] {
    var json = JSONWriter(isPretty: arguments.pretty, isForTerminal: output.isTerminal)
    json.beginObject()
    json.key("tst")
    json.string(System.dateAndTime(now.seconds, [46] + decimal(Int64(now.nanoseconds / 1000), digits: 6)))
    json.key("destination")
    json.string(message.destination)
    json.add(headers: message.headers)
    json.key("length")
    json.number(Int64(message.payload.count))
    if isQuoted {
      json.add(body: message.payload)
    } else {
      json.key("body")
      if !json.copy(message.payload) {
        throw ExitError(text: "the body from \(message.destination.escaped) is not JSON, and stays there")
      }
    }
    json.endObject()
    return json.bytes
  }
}

extension JSONWriter {
  mutating func add(headers: [STOMP.Header]) {
    key("headers")
    beginObject()
    // Of a name that is there twice, the first one counts ("Repeated Header Entries").
    for (index, header) in headers.enumerated()
    where !headers[..<index].contains(where: { $0.name == header.name }) {
      key(header.name)
      string(header.value)
    }
    endObject()
  }

  /// As text, if it is one.
  mutating func add(body: [UInt8]) {
    key(body.isUTF8 ? "body" : "body_hex")
    string(body.isUTF8 ? body : body.hexadecimal)
  }
}
