import Storage
import Testing

@testable import Capture

@Suite struct NumberLinesTests {
  private static func written(room: Int, _ write: (inout NumberLines) -> Void) -> String {
    var bytes = [UInt8](repeating: 0, count: room)
    var lines = NumberLines(bytes.mutableSpan)
    write(&lines)
    let count = lines.count
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  @Test func namesAndNumbers() {
    let text = Self.written(room: 200) {
      $0.put("sent", Counter(value: 5_000_000_000))
      $0.put("state", 2 as UInt32)
      $0.put("bytes", 77 as Int)
      $0.put("latency", 15, 3)
    }
    #expect(text == "sent 5000000000\nstate 2\nbytes 77\nlatency 15 3\n")
  }

  /// What does not fit, and all that follows, is left out: there is no half of a line, and no line without those before it.
  @Test func whatDoesNotFit() {
    for room in 0..<100 {
      let text = Self.written(room: room) {
        $0.put("first", 1 as UInt32)
        $0.put("a_name_that_is_longer", 2 as UInt32)
        $0.put("x", 3 as UInt32)
        $0.put("y", 0, 4)
      }
      #expect("first 1\na_name_that_is_longer 2\nx 3\ny 0 4\n".hasPrefix(text))
      #expect(text.isEmpty || text.hasSuffix("\n"))
    }
  }
}
