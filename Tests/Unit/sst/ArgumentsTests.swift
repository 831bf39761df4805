import Testing

@testable import sst

@Suite struct ArgumentsTests {
  /// Of a command that reads no file of defaults.
  private func arguments(_ name: String, _ line: [String]) throws(ExitError) -> Arguments {
    guard let command = commands.first(where: { string($0.title) == "sst \(name)" }) else {
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
    let short = try arguments("send", ["-t", "/queue/a", "-m", "x", "-u", "me", "-P", "word", "-V", "1.1"])
    let long = try arguments(
      "send",
      [
        "--destination=/queue/a", "--message", "x", "--login=me", "--passcode=word", "--protocol-version",
        "1.1",
      ])
    for one in [short, long] {
      #expect(one.destinations.map(string) == ["/queue/a"] && one.version == 11)
      #expect(one.user.map(string) == "me" && one.password.map(string) == "word")
    }
  }

  @Test func aSenderHasOneDestinationAndAReceiverAll() throws {
    #expect(try arguments("send", ["-t", "a", "-t", "b", "-n"]).destinations.map(string) == ["b"])
    #expect(try arguments("receive", ["-t", "a", "-t", "b"]).destinations.map(string) == ["a", "b"])
  }

  @Test func headersBecomeAList() throws {
    let one = try arguments("send", ["-t", "a", "-n", "-H", "colour:  red", "-H", "empty:"])
    var list: [UInt8] = []
    for (name, value) in [("colour", "red"), ("empty", "")] {
      #expect(STOMP.put(STOMP.Header(name: bytes(name), value: bytes(value)), into: &list) == 0)
    }
    #expect(one.headers == list)
  }

  @Test func aSelectorIsAHeader() throws {
    let one = try arguments("receive", ["-t", "a", "--selector", "n > 1"])
    #expect(one.headers == (try arguments("receive", ["-t", "a", "-H", "selector: n > 1"])).headers)
  }

  @Test(arguments: [("1,2", 1, 2), ("0,30000", 0, 30_000)])
  func heartBeats(_ text: String, _ send: UInt32, _ receive: UInt32) throws {
    let one = try arguments("check", ["--heart-beat", text])
    #expect(one.heartBeat?.send == send && one.heartBeat?.receive == receive)
  }

  @Test(arguments: [
    (["-V", "1.3"], "needs 1.0, 1.1 or 1.2"), (["--heart-beat", "1"], "needs two times in milliseconds"),
    (["--heart-beat", "1,x"], "needs two times in milliseconds"), (["-H", "none"], "needs 'name: value'"),
    (["-H", "destination: x"], "the library writes destination itself: -t sets it"),
    (["-H", "receipt: x"], "the library writes receipt itself"), (["-t", ""], "a destination is a text"),
    (["--transaction", "--no-receipt"], "cannot be used together"), (["-P", "x"], "-P needs a login"),
    (["--ack", "auto"], "is not an option of sst send"),
    (["-L", "stomp://h", "-h", "h"], "cannot be used together"),
    (["--unix", "/s", "--proxy", "http://p"], "is not for a socket"),
    (["--ws-header", "a: b"], "needs a WebSocket"),
    (["-n", "-m", "x"], "only one of"), (["-q", "1"], "unknown option"),
  ])
  func whatIsWrongIsSaid(_ line: [String], _ expected: String) {
    #expect(complaint("send", ["-t", "t"] + line).contains(expected))
  }

  @Test func individualAcknowledgementsAreNotOf1_0() {
    #expect(
      complaint("receive", ["-t", "a", "--ack", "all"]).contains("needs auto, client or client-individual"))
    #expect(
      complaint("receive", ["-t", "a", "--ack", "client-individual", "-V", "1.0"]).contains("needs STOMP 1.1")
    )
  }

  @Test(arguments: [
    ("stomp://h", false, false, 61613), ("stomps://h", true, false, 61614),
    ("stomp+ssl://h", true, false, 61614),
    ("ws://h/x", false, true, 80), ("stomp+wss://h", true, true, 443), ("h", false, false, 61613),
  ])
  func schemes(_ text: String, _ isSecure: Bool, _ isWebSocket: Bool, _ port: UInt32) {
    let url = BrokerURL(bytes(text))
    #expect(url.isSecure == isSecure && url.isWebSocket == isWebSocket && url.defaultPort == port)
  }

  @Test func optionsOfTLSMakeASchemeOfIt() {
    #expect(string(BrokerURL(bytes("stomp://u@h,i:7/")).secured.text) == "stomps://u@h:61613,i:7/")
  }

  /// What may be a password is never printed.
  @Test func aSecretStaysOne() {
    for line in [["-u", "u", "-P", "secret", "secrets"], ["-Psecret"], ["--nonsense=secret"], ["-Zsecret"]] {
      let text = complaint("send", ["-t", "t"] + line)
      #expect(text != "nothing" && !text.contains("secret"))
    }
  }
}
