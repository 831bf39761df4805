/// The result of a bench, as text or as JSON.
struct Report {
  let plain: Text
  let json: Text

  init(_ arguments: Arguments, _ load: Load) {
    plain = Self.words(arguments, load)
    json = Self.object(arguments, load)
  }

  private static let parts: [(StaticString, Int64)] = [
    ("p50", 50_000), ("p90", 90_000), ("p99", 99_000), ("p99.9", 99_900),
  ]

  private static func words(_ arguments: Arguments, _ load: Load) -> Text {
    var text: Text =
      "publishers \(arguments.publishers), subscribers \(arguments.subscribers), QoS \(Int(arguments.qos)), payloads of \(arguments.size) bytes\n"
    text += "connected   in \(seconds(load.connecting)) s\n"
    text += "published   \(rate(load.published, load.publishing, arguments))\n"
    if arguments.subscribers > 0 { text += "received    \(rate(load.received, load.receiving, arguments))\n" }
    if load.lost > 0 { text += "lost        \(grouped(load.lost)) of \(grouped(load.expected))\n" }
    if load.failed > 0 { text += "failed      \(grouped(load.failed))\n" }
    if load.disconnections > 0 {
      text += "broken      \(grouped(load.disconnections)) connections; the last of a \(load.lastBreak)\n"
    }
    for (name, histogram) in [("delivery   ", load.delivery), ("acknowledged after", load.acknowledgement)]
      as [(StaticString, Histogram)]
    where histogram.count > 0 {
      text += "\(name) \(latencies(histogram))\n\(bars(histogram))"
    }
    return text
  }

  /// A line for each power of two: how many messages took less, and not less than the line above.
  private static func bars(_ histogram: Histogram) -> Text {
    let most = histogram.classes.reduce(1) { max($0, $1.count) }
    var text = Text()
    for line in histogram.classes {
      let bound = microseconds(line.bound * 1000)
      let length = Int((line.count * 40 + most - 1) / most)
      text += Text([UInt8](repeating: 32, count: max(0, 10 - bound.bytes.count)))
      text +=
        "< \(bound)  \([UInt8](repeating: 35, count: length))\([UInt8](repeating: 32, count: 41 - length))"
      text += "\(fraction(thousandths: line.count * 100_000 / histogram.count, places: 2)) %\n"
    }
    return text
  }

  private static func seconds(_ nanoseconds: Int64) -> Text {
    fraction(thousandths: nanoseconds / 1_000_000, places: 2)
  }

  private static func rate(_ count: Int64, _ nanoseconds: Int64, _ arguments: Arguments) -> Text {
    let each = perSecond(count, nanoseconds)
    return
      "\(grouped(count)) messages in \(seconds(nanoseconds)) s: \(grouped(each)) a second, \(fraction(thousandths: each * arguments.size / 1000, places: 2)) MB/s"
  }

  private static func perSecond(_ count: Int64, _ nanoseconds: Int64) -> Int64 {
    nanoseconds <= 0 ? 0 : count * 1_000_000 / max(1, nanoseconds / 1000)
  }

  static func latencies(_ histogram: Histogram) -> Text {
    var text = Text()
    for (name, part) in parts { text += "\(name) \(microseconds(histogram.percentile(part))), " }
    text += "max \(microseconds(histogram.largest))"
    return text
  }

  private static func microseconds(_ nanoseconds: Int64) -> Text {
    if nanoseconds >= 1_000_000_000 {
      return "\(fraction(thousandths: nanoseconds / 1_000_000, places: 2)) s"
    }
    return nanoseconds >= 1_000_000
      ? "\(fraction(thousandths: nanoseconds / 1000, places: 2)) ms" : "\((nanoseconds + 500) / 1000) us"
  }

  private static func object(_ arguments: Arguments, _ load: Load) -> Text {
    var json = JSONWriter(isPretty: false)
    json.beginObject()
    for (name, number) in [
      ("publishers", arguments.publishers), ("subscribers", arguments.subscribers),
      ("qos", Int64(arguments.qos)),
      ("payload_bytes", arguments.size), ("connecting_us", load.connecting / 1000),
      ("published", load.published),
      ("publishing_us", load.publishing / 1000),
      ("published_per_s", perSecond(load.published, load.publishing)),
      ("received", load.received), ("receiving_us", load.receiving / 1000),
      ("received_per_s", perSecond(load.received, load.receiving)), ("lost", load.lost),
      ("failed", load.failed),
      ("disconnections", load.disconnections),
    ] as [(StaticString, Int64)] {
      json.key(name)
      json.number(number)
    }
    add("delivery_us", load.delivery, to: &json)
    add("acknowledgement_us", load.acknowledgement, to: &json)
    json.endObject()
    return Text(json.bytes + [10])
  }

  private static func add(_ name: StaticString, _ histogram: Histogram, to json: inout JSONWriter) {
    json.key(name)
    guard histogram.count > 0 else { return json.raw(ascii("null")) }
    json.beginObject()
    json.key("min")
    json.number(histogram.smallest / 1000)
    json.key("mean")
    json.number(histogram.mean / 1000)
    for (part, number) in parts {
      json.key(part)
      json.number(histogram.percentile(number) / 1000)
    }
    json.key("max")
    json.number(histogram.largest / 1000)
    json.key("classes")
    json.beginArray()
    for line in histogram.classes {
      json.beginObject()
      json.key("below")
      json.number(line.bound)
      json.key("messages")
      json.number(line.count)
      json.endObject()
    }
    json.endArray()
    json.endObject()
  }
}
