/// What the steps found, printed as they run or, as JSON, at the end.
final class Findings {
  enum Result {
    case fine, note, failure
  }

  private let isPlain: Bool
  private var json = JSONWriter(isPretty: false)
  private var isOpen = false
  private var isWritten = true
  /// 3: a name has no address, 4: no connection, 5: CONNECT is refused, 6: a later step, 8: the proxy, 9: TLS, 10: the
  /// WebSocket.
  private(set) var status: Int32 = 0

  init(isPlain: Bool) {
    self.isPlain = isPlain
    json.beginObject()
    json.key("servers")
    json.beginArray()
  }

  func begin(_ server: Text) {
    if isPlain {
      print("\(server)\n")
    } else {
      end()
      json.beginObject()
      json.key("server")
      json.string(server.bytes)
      json.key("steps")
      json.beginArray()
    }
    isOpen = true
  }

  /// `more` is what JSON has besides.
  func report(
    _ step: StaticString, _ result: Result, _ text: Text, advice: Text = "",
    _ more: ((inout JSONWriter) -> Void)? = nil
  ) {
    let word: StaticString = result == .fine ? "ok" : result == .note ? "note" : "fail"
    if isPlain {
      let blanks: StaticString = result == .fine ? "    " : "  "
      let gap = [UInt8](repeating: 32, count: max(1, 12 - step.utf8CodeUnitCount))
      print("  \(word)\(blanks)\(step)\(gap)\(text)\n")
      if !advice.isEmpty { print("                    -> \(advice)\n") }
      return
    }
    json.beginObject()
    for (name, value) in [
      ("step", step.bytes), ("result", word.bytes), ("text", text.bytes), ("advice", advice.bytes),
    ]
      as [(StaticString, [UInt8])]
    {
      json.key(name)
      json.string(value)
    }
    more?(&json)
    json.endObject()
  }

  func fail(
    _ step: StaticString, _ status: Int32, _ text: Text, _ advice: Text,
    _ more: ((inout JSONWriter) -> Void)? = nil
  ) {
    if self.status == 0 { self.status = status }
    report(step, .failure, text, advice: advice, more)
  }

  /// false: it could not be written.
  func finish() -> Bool {
    guard !isPlain else { return isWritten }
    end()
    json.endArray()
    json.key("exit")
    json.number(Int64(status))
    json.endObject()
    return say(Text(json.bytes + [10]), to: 1)
  }

  private func end() {
    guard isOpen else { return }
    json.endArray()
    json.endObject()
    isOpen = false
  }

  private func print(_ text: Text) {
    if !say(text, to: 1) { isWritten = false }
  }
}
