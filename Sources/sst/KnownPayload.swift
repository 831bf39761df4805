/// A body in a format that is known here: JSON.
struct KnownPayload {
  let kind: StaticString = "JSON"
  private let text: [UInt8]

  /// `nil`: it is in none.
  init?(_ payload: [UInt8], topic: [UInt8]) {
    guard payload.isJSON else { return nil }
    text = payload
  }

  func json(isPretty: Bool) -> [UInt8] {
    var json = JSONWriter(isPretty: isPretty)
    write(to: &json)
    return json.bytes
  }

  func write(to json: inout JSONWriter) { _ = json.copy(text, keepsDigits: true) }
}
