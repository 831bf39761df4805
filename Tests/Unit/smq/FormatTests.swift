import Testing

@testable import smq

@Suite struct FormatTests {
  @Test func piecesAndTextBetween() throws {
    let pieces = try Format.parse(bytes(#"a%t\t%%b%-08.3p@H"#))
    #expect(pieces.count == 5)
    guard case .text(let first) = pieces[0], case .field(let topic, _) = pieces[1],
      case .text(let tab) = pieces[2],
      case .field(let payload, let field) = pieces[3], case .time(let hour) = pieces[4]
    else {
      Issue.record("other pieces: \(pieces)")
      return
    }
    #expect(string(first) == "a" && string(tab) == "\t%b" && string([topic, payload, hour]) == "tpH")
    #expect(field.isLeft && field.hasZeros && field.width == 8 && field.precision == 3)
  }

  @Test(arguments: ["%", "%z", "%5", "@", #"\"#])
  func whatIsNone(_ format: String) {
    #expect(throws: ExitError.self) { try Format.parse(bytes(format)) }
  }
}
