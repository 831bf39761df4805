import TestSupport
import Testing

@testable import Transports

/// RFC 1928 and RFC 1929, with what proxies make of them.
@Suite struct SOCKS5Tests {
  /// A conversation: what the client is to say, and what the proxy answers each time.
  private struct Client {
    var socks = SOCKS5()
    var user = ""
    var password = ""
    var name = "broker.test"
    var address: [UInt8] = []
    var port: UInt16 = 1883

    mutating func request(room: Int = 600) -> [UInt8]? {
      let (user, password, name, address) = (user.bytes, password.bytes, name.bytes, address)
      return written(room: room) { target in
        let destination = SOCKS5.Destination(name: name.span, address: address.span, port: port)
        return socks.request(destination, user: user.span, password: password.span, into: &target)
      }
    }

    mutating func receive(
      _ bytes: [UInt8], _ pieces: Pieces? = nil
    ) -> (step: HandshakeStep, taken: Int) {
      (pieces ?? Pieces(cutAt: [], of: bytes.count)).hand(bytes) { socks.receive($0, consumed: &$1) }
    }
  }

  private static func connecting() -> Client {
    var client = Client()
    _ = client.request()
    _ = client.receive(hex("05 00"))
    _ = client.request()
    return client
  }

  @Test func aNameIsLeftToTheProxy() {
    var client = Client()
    #expect(client.request() == hex("05 01 00"))
    #expect(client.receive(hex("05 00")) == (.send, 2))
    #expect(client.request() == hex("05 01 00 03 0B") + "broker.test".bytes + hex("07 5B"))
    #expect(client.receive(hex("05 00 00 01 00 00 00 00 00 00")) == (.done, 10))
    #expect(client.socks.reply == 0)
  }

  @Test func anAddressIsSentAsOne() {
    var client = Self.connecting()
    client.address = hex("7F 00 00 01")
    #expect(client.request() == hex("05 01 00 01 7F 00 00 01 07 5B"))
    client.address = hex("20 01 0D B8 00*11 01")
    #expect(client.request() == hex("05 01 00 04 20 01 0D B8 00*11 01 07 5B"))
  }

  @Test func aPasswordIsSentIfTheProxyWantsIt() {
    var client = Client(user: "me", password: "secret")
    #expect(client.request() == hex("05 02 00 02"))
    #expect(client.receive(hex("05 02")) == (.send, 2))
    #expect(client.request() == hex("01 02") + "me".bytes + hex("06") + "secret".bytes)
    // microsocks says 01 00 as well as RFC 1929 does; others repeat the version of SOCKS.
    var other = client
    #expect(other.receive(hex("05 00")) == (.send, 2))
    #expect(client.receive(hex("01 00")) == (.send, 2))
    #expect(client.request()?.prefix(3) == hex("05 01 00")[...])
  }

  @Test func aPasswordIsNotSentUnasked() {
    var client = Client(user: "me", password: "secret")
    _ = client.request()
    #expect(client.receive(hex("05 00")) == (.send, 2))
    #expect(client.request()?.prefix(3) == hex("05 01 00")[...])
  }

  @Test(arguments: [
    ("05 00 00 01 7F 00 00 01 04 38", 10), ("05 00 00 04 00*15 01 04 38", 22),
    ("05 00 00 03 04 68 6F 73 74 04 38", 11), ("05 00 00 03 00 04 38", 7),
    ("05 00 00 03 FF 61*255 04 38", 262), ("05 00 FF 01 00*6", 10),
  ])
  func aReplyIsReadToItsLastByteAndNotFurther(text: String, size: Int) {
    let bytes = hex(text)
    let more = bytes + hex("10 20 30")
    for pieces in size < 30 ? Pieces.all(of: more.count) : Pieces.some(of: more.count) {
      var client = Self.connecting()
      #expect(client.receive(more, pieces) == (.done, size))
    }
    for end in 0..<bytes.count {
      var client = Self.connecting()
      #expect(client.receive(Array(bytes[..<end])) == (.needsBytes, end))
    }
  }

  /// dante puts a domain name into the replies of failures; some proxies end after the second byte.
  @Test func aRefusalIsKnownByItsSecondByte() {
    for code in 1...255 {
      for text in ["05 \(byte(code)) 00 03 0E 61*14 00 00", "05 \(byte(code)) 00 00", "05 \(byte(code))"] {
        var client = Self.connecting()
        #expect(client.receive(hex(text)).step == .failed)
        #expect(client.socks.reply == Int32(code))
      }
    }
  }

  private func byte(_ value: Int) -> String { (value < 16 ? "0" : "") + String(value, radix: 16) }

  @Test func refusalsOfTheMethodAndOfThePassword() {
    var client = Client()
    _ = client.request()
    #expect(client.receive(hex("05 FF")).step == .failed)
    #expect(client.socks.reply == SOCKS5.Refusal.noAcceptableMethod)

    for code in ["01", "02", "FF"] {
      client = Client(user: "me")
      _ = client.request()
      _ = client.receive(hex("05 02"))
      #expect(client.request() == hex("01 02") + "me".bytes + hex("00"))
      #expect(client.receive(hex("01 \(code)")).step == .failed)
      #expect(client.socks.reply == SOCKS5.Refusal.password)
    }
  }

  @Test(arguments: ["04 00", "48 54", "05 01", "05 02", "05 03", "05 80"])
  func anAnswerThatIsNoSOCKS5ToWhatWasOffered(text: String) {
    var client = Client()
    _ = client.request()
    #expect(client.receive(hex(text)).step == .failed)
    #expect(client.socks.reply == SOCKS5.Refusal.notSOCKS5)
    // It stays so.
    #expect(client.receive(hex("05 00")) == (.failed, 0))
  }

  @Test(arguments: ["04 00 00 01", "00 5A", "05 00 00 00", "05 00 00 02", "05 00 00 05"])
  func aReplyThatIsNoSOCKS5(text: String) {
    var client = Self.connecting()
    #expect(client.receive(hex(text)).step == .failed)
    #expect(client.socks.reply == SOCKS5.Refusal.notSOCKS5)
  }

  @Test func theWrongVersionOfTheSubnegotiation() {
    var client = Client(user: "me")
    _ = client.request()
    _ = client.receive(hex("05 02"))
    #expect(client.receive(hex("02 00")).step == .failed)
    #expect(client.socks.reply == SOCKS5.Refusal.notSOCKS5)
  }

  @Test func aWholeConversationInEachSplit() {
    let answers = ["05 02", "01 00", "05 00 00 03 03 61 62 63 12 34"].map(hex)
    for first in Pieces.all(of: 2) {
      for second in Pieces.all(of: 2) {
        for third in Pieces.some(of: 10) {
          var client = Client(user: "me", password: "secret")
          _ = client.request()
          #expect(client.receive(answers[0], first) == (.send, 2))
          #expect(client.receive(answers[1], second) == (.send, 2))
          #expect(client.receive(answers[2], third) == (.done, 10))
          #expect(client.receive(hex("00")) == (.done, 0))
        }
      }
    }
  }

  @Test func limitsOfNamesAndRoom() {
    var client = Self.connecting()
    client.name = String(repeating: "n", count: 255)
    #expect(client.request()?.count == 4 + 1 + 255 + 2)
    #expect(client.request(room: 262)?.count == 262)
    #expect(client.request(room: 261) == nil)
    #expect(client.request(room: 0) == nil)
    client.name += "n"
    #expect(client.request() == nil)
    client.name = ""
    #expect(client.request() == nil)
    client.address = hex("01 02 03")
    #expect(client.request() == nil)

    client = Client(user: String(repeating: "u", count: 255), password: String(repeating: "p", count: 255))
    #expect(client.request() == hex("05 02 00 02"))
    _ = client.receive(hex("05 02"))
    #expect(client.request()?.count == 1 + 256 + 256)
    client.password += "p"
    #expect(client.request() == nil)
    client.password = ""
    client.user += "u"
    #expect(client.request() == nil)
  }

  /// Whatever a proxy says, it is no more than a refusal.
  @Test func anyBytesAtAll() {
    var random = SeededRandom(seed: 1928)
    for _ in 0..<20_000 {
      var client = Client(user: random.percent(50) ? "me" : "")
      _ = client.request()
      for _ in 0..<4 {
        var bytes = random.bytes(random.below(30))
        for index in bytes.indices where random.percent(70) {
          bytes[index] = random.pick([0, 1, 2, 3, 4, 5])
        }
        let (step, taken) = client.receive(bytes)
        #expect(taken <= bytes.count)
        if step == .needsBytes { #expect(taken == bytes.count) }
        if step == .failed { #expect(client.socks.reply > 0) }
        if step == .done { #expect(client.socks.reply == 0) }
        _ = client.request()
      }
    }
  }
}
