import Driver
import STOMPWire
import Storage
import Testing

@testable import STOMPClient

/// Options as a program might give them; the rest is what `RequestedSTOMPOptions` begins with.
private struct Request {
  var host = "h"
  var login = ""
  var passcode = ""
  var virtualHost = ""
  var askCredentials = false
  var isWebSocket = false
  var numbers: (inout RequestedSTOMPOptions) -> Void = { _ in }

  /// What becomes of them, as `shown` says it, or the error.
  func result(_ shown: (borrowing STOMPClientOptions) -> String = { _ in "good" }) -> String {
    let (host, login, passcode) = (Array(host.utf8), Array(login.utf8), Array(passcode.utf8))
    let virtualHost = Array(virtualHost.utf8)
    var request = RequestedSTOMPOptions()
    request.connection.host = host.span
    request.connection.askCredentials = askCredentials
    request.connection.webSocket = isWebSocket
    request.login = login.span
    request.passcode = passcode.span
    request.virtualHost = virtualHost.span
    numbers(&request)
    do throws(STOMPOptionsError) {
      return shown(try STOMPClientOptions(checking: request))
    } catch {
      return "\(error)"
    }
  }
}

private func text(_ span: Span<UInt8>) -> String {
  String(decoding: (0..<span.count).map { span[$0] }, as: UTF8.self)
}

/// The limits of each number are tried with the library itself, in Tests/Python; here is what several options say together.
@Suite struct STOMPClientOptionsTests {
  /// As swiftstomp.h promises them.
  @Test func defaults() {
    let shown = Request().result { options in
      let session = options.session.heartBeat
      return """
        \(options.session.oldest) \(options.session.newest) \(session.sends) \(session.wants) \
        \(options.session.receiptTimeout) \(options.session.outboxBytes) \(options.session.outboxFrames) \
        \(options.session.urgentFrames) \(options.session.receiveBytes) \(options.session.controlBytes) \
        \(options.session.subscriptions) \(options.session.subscriptionBytes) \(options.session.heldMessages) \
        \(options.session.heldBytes) \(options.session.transactions) \(options.session.credentialBytes) \
        \(options.submitFrames) \(text(options.session.host))
        """
    }
    #expect(shown == "v10 v12 10000 10000 30000 65536 256 0 4096 1024 8 256 64 128 4 0 0 /")
  }

  @Test(
    arguments: [
      (10, 12, "v10 v12"), (0, 0, "v10 v12"), (0, 11, "v10 v11"), (12, 0, "v12 v12"), (11, 11, "v11 v11"),
      (12, 11, "option"), (11, 10, "option"), (9, 0, "option"), (0, 13, "option"), (266, 0, "option"),
    ] as [(UInt32, UInt32, String)])
  func versions(_ oldest: UInt32, _ newest: UInt32, _ expected: String) {
    let request = Request(numbers: { ($0.oldest, $0.newest) = (oldest, newest) })
    #expect(request.result { "\($0.session.oldest) \($0.session.newest)" } == expected)
  }

  /// CONNECT has no escapes: what would need them can't be sent.
  @Test func texts() {
    for bad in ["a\nb", "a\rb", "a\0"] {
      #expect(Request(login: bad).result() == "header" && Request(passcode: bad).result() == "header")
      #expect(Request(virtualHost: bad).result() == "header")
    }
    #expect(Request(login: "a:b\\", passcode: ":", virtualHost: "ä").result() == "good")
    let long = String(repeating: "x", count: 65_536)
    #expect(
      Request(login: long).result() == "option"
        && Request(passcode: String(long.dropLast())).result() == "good")
  }

  /// Credentials are in the options, or asked for.
  @Test func credentials() {
    let room: (inout RequestedSTOMPOptions) -> Void = { $0.credentialBytes = 100 }
    #expect(Request(login: "a", askCredentials: true).result() == "option")
    #expect(Request(passcode: "a", askCredentials: true).result() == "option")
    #expect(Request(login: "a", numbers: room).result() == "option")
    func size(_ request: Request) -> String { request.result { "\($0.session.credentialBytes)" } }
    #expect(size(Request(login: "a", passcode: "b")) == "0" && size(Request(askCredentials: true)) == "512")
    #expect(size(Request(askCredentials: true, numbers: room)) == "100")
  }

  /// Room for urgent frames, if there are to be any.
  @Test func urgent() {
    func size(_ frames: UInt32, _ bytes: UInt32) -> String {
      Request(numbers: { ($0.urgentFrames, $0.urgentBytes) = (frames, bytes) }).result {
        "\($0.session.urgentFrames) \($0.session.urgentBytes)"
      }
    }
    #expect(size(2, 0) == "2 256" && size(2, 64) == "2 64" && size(0, 0) == "0 0")
    #expect(size(0, 64) == "option" && size(2, 63) == "option" && size(257, 0) == "option")
  }

  /// All of one kind have to fit into a block.
  @Test func products() {
    func isGood(_ change: @escaping (inout RequestedSTOMPOptions) -> Void) -> Bool {
      Request(numbers: change).result() == "good"
    }
    #expect(isGood { ($0.heldMessages, $0.heldBytes) = (4096, 65_535) })
    #expect(!isGood { ($0.heldMessages, $0.heldBytes) = (4097, 65_535) })
    #expect(isGood { ($0.subscriptions, $0.subscriptionBytes) = (1024, 65_535) })
    #expect(isGood { ($0.submitFrames, $0.submitBytes) = (256, 1_048_576) })
    #expect(!isGood { ($0.submitFrames, $0.submitBytes) = (257, 1_048_576) })
  }

  /// A power of two, and at least as many as were asked for.
  @Test(
    arguments: [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (65_535, 65_536), (65_536, 65_536)]
      as [(UInt32, Int)])
  func submissions(_ asked: UInt32, _ slots: Int) {
    #expect(
      Request(numbers: { ($0.submitFrames, $0.submitBytes) = (asked, 16) }).result { "\($0.submitFrames)" }
        == "\(slots)")
  }

  /// A WebSocket is offered the versions that CONNECT offers.
  @Test(
    arguments: [
      (0, 0, "v12.stomp, v11.stomp, v10.stomp"), (11, 12, "v12.stomp, v11.stomp"),
      (10, 11, "v11.stomp, v10.stomp"),
      (12, 12, "v12.stomp"), (10, 10, "v10.stomp"),
    ] as [(UInt32, UInt32, String)])
  func subprotocols(_ oldest: UInt32, _ newest: UInt32, _ names: String) {
    let request = Request(isWebSocket: true, numbers: { ($0.oldest, $0.newest) = (oldest, newest) })
    #expect(request.result { text($0.layers.subprotocols) } == names)
  }
}
