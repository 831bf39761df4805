import Foundation
import STOMPWire
import Storage
import TestSupport
import Testing

@testable import STOMPSession

/// A server that keeps to the specification, and writes down what it was told.
private final class ModelServer {
  struct Received {
    let id: Int
    let connection: Int
  }

  var random: SeededRandom
  private(set) var connection = 0
  private var unread: [UInt8] = []
  /// What it says, as far as nobody has read it.
  var output: [UInt8] = []
  private var receipts: [String] = []
  /// By id: the ack mode.
  private(set) var subscriptions: [String: String] = [:]
  private(set) var received: [Received] = []
  private(set) var faults: [String] = []
  /// What waits to be acknowledged on this connection, in order: the subscription and the name.
  private var unacknowledged: [(subscription: String, name: String)] = []
  private var sentMessages = 0
  private(set) var hasLeft = false
  private var version = "1.2"
  private var isConnected = false
  /// Bodies of a transaction, until it is committed.
  private var transactions: [String: [Int]] = [:]
  /// What it has said to each subscriber.
  var bodies: [String] = []

  init(_ random: SeededRandom) { self.random = random }

  func open() {
    connection += 1
    (unread, output, receipts, subscriptions, unacknowledged) = ([], [], [], [:], [])
    (hasLeft, isConnected, transactions) = (false, false, [:])
  }

  func hear(_ bytes: [UInt8]) {
    unread += bytes
    while true {
      while unread.first == 10 { unread.removeFirst() }
      guard let end = unread.firstIndex(of: 0) else { return }
      take(String(decoding: unread[..<end], as: UTF8.self))
      unread.removeFirst(end + 1)
    }
  }

  private func take(_ text: String) {
    let parts = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
    let lines = parts[0].split(separator: "\n").map(String.init)
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let pair = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      headers[pair[0]] = headers[pair[0]] ?? pair[1]
    }
    let body = parts.count > 1 ? String(parts[1]) : ""
    if hasLeft { faults.append("\(lines[0]) behind DISCONNECT") }
    if (lines[0] == "CONNECT") == isConnected { faults.append("\(lines[0]) out of order") }
    if let receipt = headers["receipt"] { receipts.append(receipt) }
    switch lines[0] {
    case "CONNECT":
      isConnected = true
      version = ["1.0", "1.1", "1.2"].randomElement(using: &random)!
      say("CONNECTED\nversion:\(version)\n\n\0")
    case "SEND":
      if headers["content-length"] != "\(body.utf8.count)" { faults.append("length of \(text)") }
      guard let id = Int(body.split(separator: " ")[0]) else { return faults.append(text) }
      if let transaction = headers["transaction"] {
        if transactions[transaction] == nil { faults.append("transaction \(transaction)") }
        transactions[transaction]?.append(id)
      } else {
        received.append(Received(id: id, connection: connection))
      }
    case "SUBSCRIBE":
      if subscriptions[headers["id"]!] != nil { faults.append("subscribed twice: \(headers)") }
      subscriptions[headers["id"]!] = headers["ack"]
    case "UNSUBSCRIBE": subscriptions[headers["id"]!] = nil
    case "ACK", "NACK":
      let name = version == "1.2" ? headers["id"] : headers["message-id"]
      guard let index = unacknowledged.firstIndex(where: { $0.name == name }) else {
        return faults.append("\(lines[0]) for \(name ?? "nothing")")
      }
      let subscription = unacknowledged[index].subscription
      if version == "1.1", headers["subscription"] != subscription {
        faults.append("subscription of \(text)")
      }
      if subscriptions[subscription] == "client" {
        unacknowledged.removeSubrange(...index)
      } else {
        unacknowledged.remove(at: index)
      }
    case "BEGIN": transactions[headers["transaction"]!] = []
    case "COMMIT":
      for id in transactions.removeValue(forKey: headers["transaction"]!) ?? [] {
        received.append(Received(id: id, connection: connection))
      }
    case "ABORT": transactions[headers["transaction"]!] = nil
    case "DISCONNECT": hasLeft = true
    default: faults.append("unknown: \(text)")
    }
  }

  private func say(_ text: String) { output += Array(text.utf8) }

  /// Confirms something, or has a message for somebody.
  func act() {
    guard isConnected else { return }
    if !receipts.isEmpty, Bool.random(using: &random) {
      say(
        "RECEIPT\nreceipt-id:\(receipts.remove(at: Int.random(in: 0..<receipts.count, using: &random)))\n\n\0\n"
      )
    }
    guard !hasLeft, let (id, mode) = subscriptions.randomElement(using: &random),
      Int.random(in: 0...2, using: &random) == 0
    else {
      return
    }
    sentMessages += 1
    let body = "\(sentMessages) " + String(repeating: "b", count: Int.random(in: 0...900, using: &random))
    // The buffer has 512 bytes: what is larger has to say so.
    let length =
      body.utf8.count > 300 || Bool.random(using: &random) ? "content-length:\(body.utf8.count)\n" : ""
    let names = "message-id:m\(sentMessages)\nack:m\(sentMessages)\n"
    say("MESSAGE\nsubscription:\(id)\ndestination:d\n\(names)\(length)\n\(body)\0")
    bodies.append(body)
    if mode != "auto" { unacknowledged.append((id, "m\(sentMessages)")) }
  }

  func confirmAll() {
    for receipt in receipts { say("RECEIPT\nreceipt-id:\(receipt)\n\n\0") }
    receipts = []
  }

  func sawWhole(_ ids: Set<Int>) -> [Int] { ids.filter { id in !received.contains { $0.id == id } }.sorted() }
}

/// A program that does anything in any order, on connections that break anywhere.
private final class ModelRun {
  private var random: SeededRandom
  private let harness = STOMPHarness {
    ($0.outboxBytes, $0.outboxFrames, $0.subscriptions, $0.heldMessages) = (900, 12, 3, 3)
  }
  private let server: ModelServer
  private var isOpen = false
  private var nextID = 1
  struct Sent {
    let hasReceipt: Bool
    let isRepeatable: Bool
    let transaction: UInt16
    var outcome: String?
  }
  private var sent: [Int: Sent] = [:]
  /// Of messages that wait to be acknowledged, in order.
  private var tokens: [(token: UInt64, slot: Int)] = []
  private var transactions: [UInt16] = []
  private var slots: Set<Int> = []
  private var part = ""
  private var heard: [String] = []
  private(set) var faults: [String] = []

  init(_ seed: UInt64) {
    random = SeededRandom(seed: seed)
    server = ModelServer(SeededRandom(seed: seed ^ 0xABCD))
  }

  private func roll(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }
  private func check(_ isSo: Bool, _ text: @autoclosure () -> String) { if !isSo { faults.append(text()) } }

  func run() {
    for _ in 0..<150 {
      switch roll(11) {
      case 0 where !isOpen: open()
      case 0: if roll(4) == 0 { cut() }
      case 1, 2, 3: send()
      case 4: subscribe()
      case 5: acknowledge()
      case 6: transact()
      case 7, 8: if isOpen { write(roll(200)) }
      case 9: if isOpen { server.act() }
      case 10: if isOpen { read(roll(300)) }
      default: takeEvents(roll(3))
      }
    }
    finish()
  }

  private func open() {
    server.open()
    harness.session.connectionOpened()
    (isOpen, tokens, transactions) = (true, [], [])
  }

  private func cut() {
    isOpen = false
    harness.session.connectionClosed()
    (part, tokens, transactions) = ("", [], [])
    // What was on its way to the client is lost.
    server.bodies = []
    heard = []
    takeEvents(.max)
    heard = []
  }

  private func send() {
    let transaction = transactions.randomElement(using: &random) ?? 0
    let one = Sent(hasReceipt: roll(1) == 0, isRepeatable: roll(2) == 0, transaction: transaction)
    let body = "\(nextID) " + String(repeating: "x", count: roll(60))
    let error = harness.send(
      body, cookie: UInt64(nextID), receipt: one.hasReceipt, again: one.isRepeatable, transaction: transaction
    )
    guard error == nil else { return check(error == .full, "send: \(error!)") }
    sent[nextID] = one
    nextID += 1
  }

  private func subscribe() {
    if let slot = slots.randomElement(using: &random), roll(1) == 0 {
      do {
        try harness.session.unsubscribe(slot, headers: Span(), cookie: 0)
        slots.remove(slot)
        tokens.removeAll { $0.slot == slot }
      } catch {
        check(error == .state, "unsubscribe: \(error)")
      }
    } else if let slot = try? harness.subscribe("d", [.automatic, .client][roll(1)]) {
      slots.insert(slot)
    }
  }

  private func acknowledge() {
    guard let index = tokens.indices.randomElement(using: &random) else { return }
    let transaction = transactions.randomElement(using: &random) ?? 0
    acknowledge(index, transaction: roll(3) == 0 ? transaction : 0)
  }

  private func acknowledge(_ index: Int, transaction: UInt16 = 0) {
    let (token, slot) = tokens[index]
    do {
      try harness.session.acknowledge(token, isAccepted: true, transaction: transaction)
      harness.session.resume(at: harness.now)
      // Those with a token are of the mode "client".
      tokens.removeSubrange(index...index)
      for before in (0..<index).reversed() where tokens[before].slot == slot { tokens.remove(at: before) }
    } catch {
      check(error == .full, "acknowledge: \(error)")
    }
  }

  private func transact() {
    if let transaction = transactions.last, roll(1) == 0 {
      do {
        if roll(1) == 0 {
          try harness.session.commit(transaction, cookie: 0)
        } else {
          try harness.session.abort(transaction, cookie: 0)
        }
        transactions.removeLast()
      } catch {
        check(error == .full, "end: \(error)")
      }
    } else if let transaction = try? harness.session.begin() {
      transactions.append(transaction)
    }
  }

  private func write(_ most: Int) { server.hear(harness.sentBytes(most)) }

  private func read(_ most: Int) {
    let rest = harness.receive(Array(server.output.prefix(most)))
    server.output.removeFirst(min(most, server.output.count) - rest)
    if let reason = harness.session.closeReason { check(server.hasLeft, "closed: \(reason.cause)") }
  }

  private func takeEvents(_ most: Int) {
    for _ in 0..<min(most, 10_000) {
      guard let event = harness.session.nextEvent(at: harness.now) else { return }
      switch event {
      case .completed(let completion):
        guard completion.cookie != 0 else { continue }
        let id = Int(completion.cookie)
        check(sent[id] != nil && sent[id]?.outcome == nil, "completed twice: \(id)")
        sent[id]?.outcome = "\(completion.outcome)"
      case .message(let message):
        part += harness.received(message.body)
        if message.token != 0, isOpen { tokens.append((message.token, message.subscription)) }
        guard message.isLast else { continue }
        heard.append(part)
        part = ""
      default: break
      }
    }
  }

  /// A connection that lasts: everything comes to its end.
  private func finish() {
    takeEvents(.max)
    if isOpen { cut() }
    open()
    for round in 0..<400 {
      write(1000)
      server.confirmAll()
      read(1000)
      takeEvents(.max)
      if !tokens.isEmpty { acknowledge(tokens.count - 1) }
      if harness.session.isDrained, server.output.isEmpty { break }
      check(round < 399, "it does not come to rest")
    }
    for (id, one) in sent {
      check(one.outcome != nil, "\(id) never ended")
      let count = server.received.filter { $0.id == id }.count
      check(count <= 1 || one.isRepeatable, "\(id) arrived \(count) times")
      if one.transaction == 0, one.hasReceipt, one.outcome == "delivered" {
        check(count > 0, "\(id) was not received")
      }
      if one.transaction == 0, one.outcome == "connectionLost" { check(false, "\(id) is of no connection") }
    }
    // In the order of the program, on each connection.
    for connection in 0...server.connection {
      let ids = server.received.filter { $0.connection == connection && sent[$0.id]?.transaction == 0 }.map(
        \.id)
      check(ids == ids.sorted(), "out of order: \(ids)")
    }
    check(
      Set(server.subscriptions.keys) == Set(slots.map(String.init)), "\(server.subscriptions) and \(slots)")
    check(heard == server.bodies, "\(heard.count) messages of \(server.bodies.count)")
    faults += server.faults
  }
}

extension STOMPHarness {
  /// At most so many bytes of what is to be sent.
  fileprivate func sentBytes(_ most: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < most {
      let part = part(most - bytes.count)
      guard !part.isEmpty else { return bytes }
      bytes += part
    }
    return bytes
  }
}

@Suite struct STOMPModelTests {
  /// SMQ_RUNS=100000 by hand; each run is that of its number.
  @Test func anythingInAnyOrder() {
    let runs = ProcessInfo.processInfo.environment["SMQ_RUNS"].flatMap { UInt64($0) } ?? 3000
    for seed in 1...runs {
      let run = ModelRun(seed)
      run.run()
      guard run.faults.isEmpty else {
        Issue.record("seed \(seed): \(run.faults.prefix(3))")
        return
      }
    }
  }
}
