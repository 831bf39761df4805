import Testing

@testable import smq

@Suite struct ArgumentsTests {
  /// Of a command that reads no file of defaults.
  private func arguments(_ name: String, _ line: [String]) throws(ExitError) -> Arguments {
    guard let command = commands.first(where: { string($0.title) == "smq \(name)" }) else {
      throw ExitError(text: "there is no such command")
    }
    let alone = Command(
      name: command.name, set: command.set, summary: "", usage: "", file: "", run: command.run)
    return try Arguments(alone, line.map(bytes))
  }

  /// What is said about a command line that is wrong.
  private func complaint(_ name: String, _ line: [String]) -> String {
    do throws(ExitError) {
      _ = try arguments(name, line)
      return "nothing"
    } catch {
      return error.isUsage ? string(error.text) : "not about the command line"
    }
  }

  @Test func shortAndLongNames() throws {
    let short = try arguments("pub", ["-t", "a", "-m", "x", "-q", "1", "-r", "-p", "1884"])
    let long = try arguments("pub", ["--topic", "a", "--message=x", "--qos=1", "--retain", "--port", "1884"])
    for one in [short, long] {
      #expect(one.topics.map(string) == ["a"] && one.qos == 1 && one.retain && one.port == 1884)
      guard case .text(let text) = one.source else {
        Issue.record("the message is no text")
        continue
      }
      #expect(string(text) == "x")
    }
  }

  @Test func aValueMayHaveAnEqualsSign() throws {
    #expect(try arguments("pub", ["--topic=a=b", "-n"]).topics.map(string) == ["a=b"])
  }

  @Test func aWordAloneIsTheURLOfBenchAndCheckOnly() throws {
    #expect(string(try arguments("bench", ["mqtt://h"]).url) == "mqtt://h")
    #expect(complaint("bench", ["mqtt://h", "again"]) == #""again" is unexpected: there is a URL already"#)
    #expect(complaint("pub", ["mqtt"]).contains("unknown option"))
  }

  @Test func aWordAloneIsTheFileOfJournal() throws {
    let given = try arguments("journal", ["--check", "out.journal"])
    #expect(string(given.journalFile) == "out.journal" && given.onlyCheck && given.url.isEmpty)
    #expect(complaint("journal", ["a", "b"]) == #""b" is unexpected: there is a FILE already"#)
    #expect(complaint("journal", []).contains("a journal is required"))
    #expect(complaint("journal", ["a", "-h", "b"]) == "-h is not an option of smq journal")
  }

  @Test func helpIsAnsweredWithoutTheRest() throws {
    #expect(try arguments("pub", ["--help"]).wantsHelp)
  }

  @Test(arguments: [
    (["-t"], "needs a value"), (["--retain=1"], "takes no value"),
    (["-i", "a", "-I", "b"], "cannot be used together"),
    (["--will-payload", "x"], "--will-payload needs --will-topic"), (["-c"], "-c needs a Client Identifier"),
    (["-D", "publish", "topic-alias"], "-D needs a packet, a name and a value"),
    (["-D", "publish", "nonsense", "1"], #"there is no property "nonsense""#),
    (["-D", "connect", "message-expiry-interval", "1"], "cannot carry"),
    (["-V", "311", "-D", "publish", "message-expiry-interval", "1", "-V", "311"], "-D needs MQTT 5.0"),
    (["-L", "mqtt://h/t", "-h", "h"], "-L and -h cannot be used together"),
  ])
  func whatIsWrongIsSaid(_ line: [String], _ expected: String) {
    #expect(complaint("pub", ["-t", "t", "-n"] + line).contains(expected))
  }

  /// What may be a password is never printed.
  @Test func aSecretStaysOne() {
    for line in [["-u", "u", "-P", "secret", "secrets"], ["-Psecret"], ["--nonsense=secret"], ["-Zsecret"]] {
      let text = complaint("pub", ["-t", "t"] + line)
      #expect(text != "nothing" && !text.contains("secret"))
    }
  }
}
