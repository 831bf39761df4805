import MQTTWire
import TestSupport
import Testing

extension TopicFilter.Fault: @unchecked Sendable {}

@Suite struct TopicFilterTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let statement: String
    let filter: [UInt8]
    /// `nil`: it is valid.
    let fault: TopicFilter.Fault?

    init(_ statement: String, _ filter: [UInt8], _ fault: TopicFilter.Fault?) {
      self.statement = statement
      self.filter = filter
      self.fault = fault
    }

    init(_ statement: String, _ filter: String, _ fault: TopicFilter.Fault? = nil) {
      self.init(statement, filter.bytes, fault)
    }

    var testDescription: String { "\(statement): \(String(decoding: filter.prefix(40), as: UTF8.self))" }
  }

  // `#expect` can't look into a span.
  private static func matches(_ filter: [UInt8], _ topic: [UInt8]) -> Bool {
    TopicFilter.matches(filter.span, topic: topic.span)
  }

  private static func isShared(_ filter: String) -> Bool {
    let bytes = filter.bytes
    return TopicFilter.isShared(bytes.span)
  }

  private static func long(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x78, count: count) }

  static let rows: [Row] = [
    Row("[MQTT-4.7.3-1]: at least one character", "", .empty),
    Row("[MQTT-4.7.3-1]: one character", "a"),
    Row("§4.7.3: / alone", "/"),
    Row("§4.7.3: a leading /", "/a"),
    Row("§4.7.3: a trailing /", "a/"),
    Row("§4.7.1.1: empty levels", "//"),
    Row("§4.7.3: spaces", "Accounts payable"),
    Row("§4.7.3: case is significant", "ACCOUNTS"),

    // The multi-level wildcard.
    Row("§4.7.1.2: # alone", "#"),
    Row("§4.7.1.2: # behind a separator", "sport/tennis/#"),
    Row("§4.7.1.2: # behind an empty level", "/#"),
    Row("§4.7.1.2: # behind empty levels", "//#"),
    Row("[MQTT-4.7.1-1]: # not alone in its level", "sport/tennis#", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: # not last", "sport/tennis/#/ranking", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: # and a separator", "#/", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: a character behind #", "a/#b", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: two of them", "##", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: in two levels", "#/#", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: behind a letter", "a#", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: in front of a letter", "#a", .multiLevelWildcard),

    // The single-level wildcard.
    Row("§4.7.1.3: + alone", "+"),
    Row("§4.7.1.3: + and #", "+/tennis/#"),
    Row("§4.7.1.3: + in the middle", "sport/+/player1"),
    Row("§4.7.1.3: + everywhere", "+/+/+"),
    Row("§4.7.1.3: + between separators", "/+/"),
    Row("[MQTT-4.7.1-2]: + not the whole level", "sport+", .singleLevelWildcard),
    Row("[MQTT-4.7.1-2]: a character behind it", "+a", .singleLevelWildcard),
    Row("[MQTT-4.7.1-2]: in the middle of a level", "a/b+c/d", .singleLevelWildcard),
    Row("[MQTT-4.7.1-2]: two in a level", "++", .singleLevelWildcard),
    Row("[MQTT-4.7.1-2]: + in front of #", "+#", .singleLevelWildcard),
    Row("[MQTT-4.7.1-1]: # in front of +", "#+", .multiLevelWildcard),
    Row("[MQTT-4.7.1-2]: the last level", "a/+b", .singleLevelWildcard),

    // Shared Subscriptions.
    Row("[MQTT-4.8.2-1]: a filter of one character", "$share/g/a"),
    Row("§4.8.2: the specification's own", "$share/consumer1/sport/tennis/+"),
    Row("§4.8.2: # behind the name", "$share/g/#"),
    Row("§4.8.2: + behind the name", "$share/g/+"),
    Row("§4.8.2: an empty level behind the name", "$share/g//a"),
    Row("§4.8.2: a separator alone", "$share/g//"),
    Row("§4.8.2: $ in the filter", "$share/g/$SYS/#"),
    Row("§4.8.2: $share again", "$share/g/$share/h/a"),
    Row("[MQTT-4.8.2-1]: no name", "$share//a", .shareName),
    Row("[MQTT-4.8.2-1]: nothing at all", "$share/", .shareName),
    Row("[MQTT-4.8.2-1]: separators only", "$share//", .shareName),
    Row("[MQTT-4.8.2-2]: no separator behind the name", "$share/g", .shareName),
    Row("[MQTT-4.8.2-2]: no filter behind the separator", "$share/g/", .shareName),
    Row("[MQTT-4.8.2-2]: + as the name", "$share/+/a", .shareName),
    Row("[MQTT-4.8.2-2]: # as the name", "$share/#/a", .shareName),
    Row("[MQTT-4.8.2-2]: + in the name", "$share/g+/a", .shareName),
    Row("[MQTT-4.8.2-2]: # in the name", "$share/g#h/a", .shareName),
    Row("[MQTT-4.8.2-2]: # as the name, last", "$share/#", .shareName),
    Row("[MQTT-4.7.1-1]: # not last behind the name", "$share/g/#/a", .multiLevelWildcard),
    Row("[MQTT-4.7.1-1]: # not alone behind the name", "$share/g/a#", .multiLevelWildcard),
    Row("[MQTT-4.7.1-2]: + not alone behind the name", "$share/g/a+", .singleLevelWildcard),
    Row("§4.8.2: no separator, an ordinary filter", "$share"),
    Row("§4.8.2: another word, an ordinary filter", "$shared/#"),
    Row("§4.8.2: not in front, an ordinary filter", "a/$share/+"),
    Row("§4.7.2: $SYS", "$SYS/#"),

    // Strings.
    Row("§1.5.4: characters of two, three and four bytes", "\u{B5}/\u{6C17}/\u{1D11E}/+"),
    Row("[MQTT-1.5.4-3]: U+FEFF", "\u{FEFF}a/#"),
    Row("§1.5.4: a non-character may stand", "\u{FFFF}"),
    Row("[MQTT-4.7.3-2]: U+0000", [0x61, 0x00], .utf8),
    Row("[MQTT-4.7.3-2]: U+0000 alone", [0x00], .utf8),
    Row("[MQTT-3.8.3-1]: a lone continuation", [0x61, 0x80], .utf8),
    Row("[MQTT-3.8.3-1]: overlong", [0xC0, 0xAF], .utf8),
    Row("[MQTT-3.8.3-1]: a surrogate", [0xED, 0xA0, 0x80], .utf8),
    Row("[MQTT-3.8.3-1]: above U+10FFFF", [0xF4, 0x90, 0x80, 0x80], .utf8),
    Row("[MQTT-3.8.3-1]: a character cut off", [0x61, 0xE2, 0x82], .utf8),
    Row("[MQTT-3.8.3-1]: in the share name", "$share/".bytes + [0xFF] + "/a".bytes, .utf8),
    Row("[MQTT-4.7.3-2]: in the share name", "$share/".bytes + [0x00] + "/a".bytes, .utf8),
    Row("[MQTT-4.7.3-3]: 65,535 bytes", long(65_535), nil),
    Row("[MQTT-4.7.3-3]: 65,536 bytes", long(65_536), .tooLong),
    Row("[MQTT-4.7.3-3]: 65,535 bytes, # last", long(65_533) + "/#".bytes, nil),
    Row("[MQTT-4.7.3-3]: the share name counts", "$share/g/".bytes + long(65_526), nil),
    Row("[MQTT-4.7.3-3]: one byte more", "$share/g/".bytes + long(65_527), .tooLong),
  ]

  @Test(arguments: rows)
  func validates(row: Row) {
    if let fault = row.fault {
      #expect(throws: fault) { try TopicFilter.validate(row.filter.span) }
    } else {
      #expect(throws: Never.self) { try TopicFilter.validate(row.filter.span) }
    }
  }

  /// What is a valid Topic Name is a valid Topic Filter, and matches itself.
  @Test(arguments: ["a", "/", "/a", "a//b", "$SYS/a", "\u{6C17}/\u{1D11E}", "a b"])
  func namesAreFilters(name: String) throws {
    let bytes = name.bytes
    try TopicName.validate(bytes.span)
    try TopicFilter.validate(bytes.span)
    #expect(Self.matches(bytes, bytes))
  }

  @Test func shared() {
    for filter in ["$share/", "$share/g", "$share/g/a", "$share/g/#", "$share//"] {
      #expect(Self.isShared(filter), "\(filter)")
    }
    for filter in ["", "$", "$share", "$shared/g/a", "$SHARE/g/a", "share/g/a", "/$share/g/a", "$sharE/g/a"] {
      #expect(!Self.isShared(filter), "\(filter)")
    }
  }

  // MARK: Matching

  struct Match: Sendable, CustomTestStringConvertible {
    let reference: String
    let filter: String
    var yes: [String] = []
    var no: [String] = []

    var testDescription: String { filter }
  }

  static let matches: [Match] = [
    // The specification's own examples.
    Match(
      reference: "§4.7.1.2", filter: "sport/tennis/player1/#",
      yes: ["sport/tennis/player1", "sport/tennis/player1/ranking", "sport/tennis/player1/score/wimbledon"],
      no: ["sport/tennis", "sport/tennis/player", "sport/tennis/player11", "sport/tennis/player2/ranking"]),
    Match(
      reference: "§4.7.1.2: # includes the parent level", filter: "sport/#",
      yes: ["sport", "sport/", "sport/tennis"], no: ["sports", "spor", "/sport"]),
    Match(
      reference: "§4.7.1.2: every Application Message", filter: "#",
      yes: ["a", "/", "/a", "a/b/c", "//", "a/$b"], no: ["$SYS", "$SYS/a", "$", "$/a"]),
    Match(
      reference: "§4.7.1.3", filter: "sport/tennis/+",
      yes: ["sport/tennis/player1", "sport/tennis/player2", "sport/tennis/"],
      no: ["sport/tennis/player1/ranking", "sport/tennis"]),
    Match(
      reference: "§4.7.1.3: only a single level", filter: "sport/+", yes: ["sport/", "sport/a"], no: ["sport"]
    ),
    Match(
      reference: "§4.7.1.3", filter: "+/tennis/#", yes: ["sport/tennis", "sport/tennis/a/b", "/tennis"],
      no: ["tennis", "sport/golf", "a/b/tennis", "$sport/tennis"]),
    Match(
      reference: "§4.7.1.3", filter: "sport/+/player1", yes: ["sport/tennis/player1", "sport//player1"],
      no: ["sport/player1", "sport/a/b/player1", "sport/tennis/player1/ranking"]),
    Match(
      reference: "§4.7.1.3: /finance", filter: "+/+", yes: ["/finance", "a/b", "/"],
      no: ["a", "a/b/c", "$a/b"]),
    Match(
      reference: "§4.7.1.3: /finance", filter: "/+", yes: ["/finance", "/"],
      no: ["finance", "/finance/a", "a/b"]),
    Match(reference: "§4.7.1.3: /finance", filter: "+", yes: ["finance"], no: ["/finance", "/", "$finance"]),
    Match(
      reference: "[MQTT-4.7.2-1]", filter: "+/monitor/Clients", yes: ["a/monitor/Clients"],
      no: ["$SYS/monitor/Clients"]),
    Match(
      reference: "§4.7.2", filter: "$SYS/#", yes: ["$SYS", "$SYS/", "$SYS/a/b"],
      no: ["SYS/a", "$SYSTEM", "$"]),
    Match(
      reference: "§4.7.2", filter: "$SYS/monitor/+", yes: ["$SYS/monitor/Clients"],
      no: ["$SYS/monitor", "$SYS/monitor/Clients/a", "a/monitor/Clients"]),
    Match(reference: "§4.7.3: case", filter: "ACCOUNTS", yes: ["ACCOUNTS"], no: ["Accounts", "accounts"]),
    Match(
      reference: "§4.7.3: a leading / is another topic", filter: "/finance", yes: ["/finance"],
      no: ["finance"]),
    Match(reference: "§4.7.3: so is a trailing one", filter: "finance/", yes: ["finance/"], no: ["finance"]),

    // Levels of no characters.
    Match(reference: "§4.7.1.1", filter: "a//b", yes: ["a//b"], no: ["a/b", "a/x/b", "a///b"]),
    Match(reference: "§4.7.1.1", filter: "a/+/b", yes: ["a//b", "a/x/b"], no: ["a/b", "a///b"]),
    Match(reference: "§4.7.1.1", filter: "a//#", yes: ["a/", "a//", "a//b"], no: ["a", "a/b"]),
    Match(reference: "§4.7.1.1", filter: "/#", yes: ["/", "/a", "//"], no: ["a", "a/"]),
    Match(reference: "§4.7.1.1", filter: "/", yes: ["/"], no: ["//", "a", "/a", "a/"]),
    Match(reference: "§4.7.1.1", filter: "+/#", yes: ["a", "/", "a/", "a/b/c", "//"], no: ["$a", "$a/b"]),
    Match(reference: "§4.7.1.1", filter: "+//#", yes: ["a/", "a//", "/", "//x"], no: ["a", "a/b"]),
    Match(reference: "§4.7.1.1", filter: "+/+/#", yes: ["a/b", "/", "a/b/c/d"], no: ["a"]),
    Match(reference: "§4.7.1.3", filter: "+/", yes: ["a/", "/"], no: ["a", "a/b", "a//"]),

    // $ counts only in front.
    Match(reference: "[MQTT-4.7.2-1]", filter: "a/+", yes: ["a/$b"]),
    Match(reference: "[MQTT-4.7.2-1]", filter: "a/#", yes: ["a/$b", "a/b/$c"]),
    Match(reference: "[MQTT-4.7.2-1]", filter: "+/$b", yes: ["a/$b"], no: ["$a/$b"]),
    Match(reference: "[MQTT-4.7.2-1]", filter: "$/+", yes: ["$/a", "$/"], no: ["$", "a/a"]),
    Match(reference: "[MQTT-4.7.2-1]", filter: "$a/+/b", yes: ["$a/x/b", "$a/$x/b"], no: ["a/x/b"]),

    // Shared Subscriptions: the name takes no part.
    Match(
      reference: "§4.8.2", filter: "$share/g/sport/#", yes: ["sport", "sport/a"],
      no: ["sports", "g/sport/a", "$share/g/sport/a"]),
    Match(reference: "§4.8.2", filter: "$share/g/a", yes: ["a"], no: ["b", "$share/g/a", "g/a"]),
    Match(
      reference: "§4.8.2 with [MQTT-4.7.2-1]", filter: "$share/g/#", yes: ["a", "/", "g/a"],
      no: ["$SYS/a", "$share/g/a"]),
    Match(reference: "§4.8.2 with [MQTT-4.7.2-1]", filter: "$share/g/+/a", yes: ["x/a", "/a"], no: ["$x/a"]),
    Match(reference: "§4.8.2", filter: "$share/g/$SYS/#", yes: ["$SYS", "$SYS/a"], no: ["a", "SYS/a"]),
    Match(reference: "§4.8.2", filter: "$share/g//a", yes: ["/a"], no: ["a", "//a"]),
    Match(reference: "§4.8.2", filter: "$share/g//", yes: ["/"], no: ["//"]),
    Match(reference: "§4.8.2: an ordinary filter", filter: "$share", yes: ["$share"], no: ["a"]),
    Match(
      reference: "§4.8.2: an ordinary filter", filter: "$shared/#", yes: ["$shared", "$shared/a"], no: ["a"]),

    Match(
      reference: "[MQTT-4.7.3-4]: byte by byte, no normalization", filter: "\u{E9}", yes: ["\u{E9}"],
      no: ["e"]),
    Match(
      reference: "[MQTT-4.7.3-4]", filter: "+/\u{1D11E}", yes: ["\u{6C17}/\u{1D11E}"],
      no: ["\u{6C17}/\u{1D11F}"]),
  ]

  @Test(arguments: matches)
  func matchesTopics(match: Match) throws {
    let filter = match.filter.bytes
    try TopicFilter.validate(filter.span)
    for topic in match.yes {
      #expect(Self.matches(filter, topic.bytes), "\(topic)")
      #expect(Self.reference(filter, topic.bytes), "\(topic)")
    }
    for topic in match.no {
      #expect(!Self.matches(filter, topic.bytes), "\(topic)")
      #expect(!Self.reference(filter, topic.bytes), "\(topic)")
    }
  }

  /// [MQTT-4.7.3-4]: "é" in one character and in two are two topics.
  @Test func noNormalization() {
    let (composed, decomposed) = ("\u{E9}".bytes, "e\u{301}".bytes)
    #expect(!Self.matches(composed, decomposed))
    #expect(!Self.matches(decomposed, composed))
  }

  /// What is not valid has no match to speak of, but is no reason to trap.
  @Test func invalidNeverTraps() {
    for filter in Self.rows.map(\.filter) where filter.count < 100 {
      for topic in ["", "a", "/", "a/b", "$SYS", "$share/g"] {
        let matches = TopicFilter.matches(filter.span, topic: topic.bytes.span)
        #expect(!(matches && (topic.isEmpty || filter.isEmpty)))
      }
    }
  }

  // MARK: Against a simpler one

  /// The rules of §4.7 level by level, as they are written.
  private static func reference(_ filter: [UInt8], _ topic: [UInt8]) -> Bool {
    let slash = UInt8(ascii: "/")
    func levels(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
      bytes.split(separator: slash, omittingEmptySubsequences: false)
    }
    var rest = levels(filter)[...]
    if filter.starts(with: "$share/".utf8) { rest = rest.dropFirst(2) }
    let names = levels(topic)
    let isWild = rest.first!.elementsEqual("#".utf8) || rest.first!.elementsEqual("+".utf8)
    if topic.first == UInt8(ascii: "$") && isWild { return false }
    for (index, level) in rest.enumerated() {
      // All that is left, and nothing: the parent.
      if level.elementsEqual("#".utf8) { return names.count >= index }
      guard index < names.count else { return false }
      guard level.elementsEqual("+".utf8) || level.elementsEqual(names[index]) else { return false }
    }
    return rest.count == names.count
  }

  /// Few letters and few levels, so that there is something to match.
  @Test func agreesWithReference() {
    var random = SeededRandom(seed: 47)
    var bits: UInt64 = 0
    var left = 0
    /// A number below 16, from four bits.
    func draw() -> Int {
      if left == 0 { (bits, left) = (random.next(), 16) }
      defer { (bits, left) = (bits >> 4, left - 1) }
      return Int(bits & 15)
    }
    let names: [[UInt8]] = [
      [], "a".bytes, "b".bytes, "a".bytes, "ab".bytes, "$".bytes, "$a".bytes, "a".bytes,
    ]
    let (slash, plus) = (UInt8(ascii: "/"), "+".bytes)
    var wrong: [String] = []
    var matching = 0
    let pairs = 400_000
    for _ in 0..<pairs {
      // A topic, a filter made from it by putting wildcards in and changing levels, sometimes shared.
      var topic: [UInt8] = []
      var filter: [UInt8] = draw() == 0 ? "$share/g/".bytes : []
      let levels = 1 + draw() % 4
      for level in 0..<levels {
        let name = names[draw() % 8]
        topic += (level == 0 ? [] : [slash]) + name
        let kind = draw()
        let shown = kind < 4 ? plus : kind < 6 ? names[draw() % 8] : name
        filter += (level == 0 ? [] : [slash]) + shown
      }
      switch draw() {
      case 0...3: filter += "/#".bytes
      case 4: filter += [slash]
      case 5: topic += [slash] + names[draw() % 8]
      case 6: topic += [slash]
      default: break
      }
      if topic.isEmpty || (try? TopicFilter.validate(filter.span)) == nil { continue }
      let expected = Self.reference(filter, topic)
      if expected { matching += 1 }
      if TopicFilter.matches(filter.span, topic: topic.span) != expected {
        wrong.append(String(decoding: filter + [0x20] + topic, as: UTF8.self))
      }
    }
    #expect(wrong == [])
    // Neither way by always saying the same.
    #expect(matching > pairs / 5 && matching < pairs * 4 / 5)
  }
}
