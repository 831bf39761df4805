import CSwiftMQTT

/// Prints messages according to -v, -F, -N and --pretty: without --decode, byte for byte as mosquitto_sub does.
final class Printer {
  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  func print(_ message: Event, to output: Output) {
    if arguments.oneIn < 10_000 {
      let drawn = System.random(4).reduce(0) { $0 << 8 | Int64($1) } % 10_000
      if drawn >= arguments.oneIn { return }
    }
    if let format = arguments.format {
      formatted(message, format, to: output)
    } else if arguments.verbose {
      if message.payload.isEmpty && !arguments.newline { return }
      output.write(shown(message.topic, output) + [32])
      output.write(message.payload.isEmpty ? ascii("(null)") : shown(payload(of: message), output))
    } else {
      if message.payload.isEmpty { return }
      output.write(shown(payload(of: message), output))
    }
    if arguments.newline { output.write(10) }
  }

  private func payload(of message: Event) -> [UInt8] {
    guard arguments.decodes, !message.payload.isEmpty else { return message.payload }
    let known = KnownPayload(message.payload, topic: message.topic)
    return known?.json(isPretty: arguments.pretty)
      ?? (message.payload.isUTF8 ? message.payload : message.payload.hexadecimal)
  }

  /// Scripts get what arrived, byte for byte; a terminal gets nothing that it would interpret.
  private func shown(_ bytes: [UInt8], _ output: Output) -> [UInt8] {
    output.isTerminal ? bytes.onTerminal : bytes
  }

  private func formatted(_ message: Event, _ format: [Format.Piece], to output: Output) {
    let now = System.wall
    let properties = MQTT.properties(message.properties)
    for piece in format {
      switch piece {
      case .text(let text): output.write(text)
      case .time(78): output.write(decimal(Int64(now.nanoseconds), digits: 9))
      case .time(let letter): output.write(System.time(letter, now.seconds))
      case .field(let letter, let field):
        let isJSON = letter == 74 || letter == 106
        let bytes =
          isJSON
          ? json(message, properties, now, isQuoted: letter == 106, output)
          : value(letter, field, message, properties, now)
        output.write(shown(bytes, output))
      }
    }
  }

  private func value(
    _ letter: UInt8, _ field: Format.Field, _ message: Event, _ properties: [MQTT.Property],
    _ now: (seconds: Int64, nanoseconds: Int32)
  ) -> [UInt8] {
    func first(_ identifier: Int) -> MQTT.Property? { properties.first { $0.identifier == identifier } }
    func number(_ identifier: Int) -> [UInt8] {
      guard let property = first(identifier) else {
        return [UInt8](repeating: field.hasZeros ? 48 : 32, count: field.width)
      }
      return field.pad(decimal(Int64(property.number)))
    }
    func text(_ identifier: Int) -> [UInt8] { field.cut(first(identifier)?.value ?? []) }

    switch letter {
    case 65: return number(SMQ_PROPERTY_TOPIC_ALIAS)  // A
    case 67: return text(SMQ_PROPERTY_CONTENT_TYPE)  // C
    case 68: return first(SMQ_PROPERTY_CORRELATION_DATA)?.value ?? []  // D
    case 69: return number(SMQ_PROPERTY_MESSAGE_EXPIRY_INTERVAL)  // E
    case 70: return number(SMQ_PROPERTY_PAYLOAD_FORMAT_INDICATOR)  // F
    case 73: return field.cut(System.dateAndTime(now.seconds))  // I
    case 80: return userProperties(properties)  // P
    case 82: return first(SMQ_PROPERTY_RESPONSE_TOPIC) == nil ? [] : text(SMQ_PROPERTY_RESPONSE_TOPIC)  // R
    case 83: return number(SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER)  // S
    case 85: return Text("\(now.seconds).\(decimal(Int64(now.nanoseconds), digits: 9))").bytes  // U
    case 88: return field.hexadecimal(message.payload, "0123456789ABCDEF")  // X
    case 108: return field.pad(decimal(Int64(message.payloadTotal)))  // l
    case 109: return field.pad([48])  // m: the library keeps Packet Identifiers to itself
    case 112:  // p: the width is the most, too
      let payload = payload(of: message)
      return field.pad(field.width == 0 ? payload : Array(payload.prefix(field.width)))
    case 113: return [48 + message.qos]  // q
    case 114: return [message.retain ? 49 : 48]  // r
    case 116: return field.cut(message.topic)  // t
    default: return field.hexadecimal(message.payload, "0123456789abcdef")  // x
    }
  }

  private func userProperties(_ properties: [MQTT.Property]) -> [UInt8] {
    var result: [UInt8] = []
    for property in properties where property.identifier == SMQ_PROPERTY_USER_PROPERTY {
      if !result.isEmpty { result.append(32) }
      result += property.name + [58] + property.value
    }
    return result
  }

  // ---- JSON

  private func json(
    _ message: Event, _ properties: [MQTT.Property], _ now: (seconds: Int64, nanoseconds: Int32),
    isQuoted: Bool, _ output: Output
  ) -> [UInt8] {
    var json = JSONWriter(isPretty: arguments.pretty, isForTerminal: output.isTerminal)
    json.beginObject()
    json.key("tst")
    json.string(received(now))
    json.key("topic")
    json.string(message.topic)
    json.key("qos")
    json.number(Int64(message.qos))
    json.key("retain")
    json.number(message.retain ? 1 : 0)
    json.key("payloadlen")
    json.number(Int64(message.payload.count))
    if !properties.isEmpty { json.add(properties, isAlwaysText: arguments.decodes) }
    if !message.payload.isEmpty && arguments.decodes {
      json.add(payload: message.payload, topic: message.topic)
      json.endObject()
      return json.bytes
    }
    json.key("payload")
    if message.payload.isEmpty {
      json.raw(ascii("null"))
    } else if isQuoted {
      json.string(message.payload)
    } else if !json.copy(message.payload) {
      printError(arguments.command.title, "the payload on \(message.topic.escaped) is not JSON")
      return []
    }
    json.endObject()
    return json.bytes
  }
  /// As ISO 8601 has it or, as mosquitto_sub prints it, with Z and a zone.
  private func received(_ now: (seconds: Int64, nanoseconds: Int32)) -> [UInt8] {
    guard !arguments.decodes else {
      return timestamp(milliseconds: UInt64(max(0, now.seconds)) * 1000 + UInt64(now.nanoseconds / 1_000_000))
    }
    return System.dateAndTime(now.seconds, [46] + decimal(Int64(now.nanoseconds / 1000), digits: 6) + [90])
  }
}
