import Testing

@testable import smq

@Suite struct JSONTests {
  private func written(
    isPretty: Bool = false, isForTerminal: Bool = false, _ write: (inout JSONWriter) -> Void
  )
    -> String
  {
    var writer = JSONWriter(isPretty: isPretty, isForTerminal: isForTerminal)
    write(&writer)
    return string(writer.bytes)
  }

  private func values(_ writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("a")
    writer.number(-1)
    writer.key("b")
    writer.beginArray()
    writer.bool(true)
    writer.string(bytes("x"))
    writer.endArray()
    writer.key("c")
    writer.beginObject()
    writer.endObject()
    writer.endObject()
  }

  @Test func inALine() {
    #expect(written(values) == #"{"a":-1,"b":[true,"x"],"c":{}}"#)
  }

  @Test func prettily() {
    #expect(
      written(isPretty: true, values)
        == "{\n\t\"a\":\t-1,\n\t\"b\":\t[true, \"x\"],\n\t\"c\":\t{\n\t}\n}")
  }

  @Test(arguments: [
    ("\"\\/", #""\"\\/""#), ("\u{8}\t\n\u{c}\r", #""\b\t\n\f\r""#), ("\0\u{1f}", #""\u0000\u001f""#),
    ("\u{7f}é\u{85}", "\"\u{7f}é\u{85}\""),
  ])
  func strings(_ text: String, _ expected: String) {
    #expect(written { $0.string(bytes(text)) } == expected)
  }

  /// What a terminal would obey is escaped, too.
  @Test func stringsForATerminal() {
    #expect(written(isForTerminal: true) { $0.string(bytes("\u{7f}é\u{85}")) } == #""\u007fé\u0085""#)
  }

  @Test(arguments: [
    ("{}", "{}"), (" [ 1 , 2.5 ] ", "[1,2.5]"), (#"{"a":{"b":[null,false]}}"#, #"{"a":{"b":[null,false]}}"#),
    (#""\u00e9\n""#, #""é\n""#), ("-0", "-0"), ("1e3", "1000"),
  ])
  func aTextIsTaken(_ text: String, _ expected: String) {
    var isTaken = false
    #expect(written { isTaken = $0.copy(bytes(text)) } == expected)
    #expect(isTaken)
  }

  @Test(arguments: ["", "{", "[1,]", "{\"a\"}", "tru", "1 2", "\"", "[1", "{,}", "'a'"])
  func whatIsNoneLeavesNoTrace(_ text: String) {
    var isTaken = true
    #expect(written { isTaken = $0.copy(bytes(text)) } == "")
    #expect(!isTaken)
  }
}
