import CSwiftMQTT

extension Feed {
  static func open(_ arguments: Arguments) throws(ExitError) -> Feed {
    arguments.operands.isEmpty ? try BrokerFeed(arguments) : try of(arguments.operands)
  }
}

/// Reads packets of several clients: which version of MQTT they are of is in the CONNECT of each.
struct PacketDecoder {
  private var versions: [UInt32] = []

  /// `version` is what the client says itself; 0: nothing.
  mutating func decode(_ packet: SeenPacket, version: UInt32) -> DecodedPacket {
    while versions.count <= packet.client { versions.append(0) }
    let known = versions[packet.client] != 0 ? versions[packet.client] : version
    let decoded = DecodedPacket(packet.bytes, length: packet.length, version: known)
    if let connect = decoded.connect { versions[packet.client] = UInt32(connect.version) }
    return decoded
  }
}

/// Topics of a broker, to which this program subscribes.
final class BrokerFeed: Feed {
  private let client: Client
  private let arguments: Arguments
  private let collected = CollectedPackets()
  private var last: Text = "connecting"
  private var wasConnected = false
  private var refusal: ExitError?

  init(_ arguments: Arguments) throws(ExitError) {
    _ = signals
    self.arguments = arguments
    if arguments.topics.isEmpty { arguments.topics = [ascii("#")] }
    let options = try receivingOptions(arguments, arguments.version ?? 4)
    do throws(ClientRefused) {
      client = try Client(options)
    } catch {
      throw ExitError(text: "cannot create the client: \(MQTT.statusText(error.status))")
    }
    client.observe(collected)
    _ = client.connect()
  }

  override var descriptors: [Int32] { [client.descriptor] }
  override var timeout: Int64 { client.nextTimeout }
  override var names: [[UInt8]] { [client.clientID] }
  override var title: [UInt8] { brokerName(arguments).bytes }
  override var state: Text { last }
  override var failure: ExitError? { refusal }

  override func read() throws(ExitError) -> [SeenPacket] {
    client.service()
    while let event = client.nextEvent() {
      switch event.type {
      case SMQ_EVENT_CONNECTED:
        last = "connected"
        wasConnected = true
        _ = client.subscribe(
          arguments.topics.map { MQTT.Filter(filter: $0, qos: arguments.qos) }, cookie: 1)
      case SMQ_EVENT_DISCONNECTED:
        last = closeText(event)
        if !wasConnected {
          refusal = ExitError(
            text: "cannot connect to \(brokerName(arguments)): \(last)",
            status: exitStatus(event, wasConnected: false))
        }
      case SMQ_EVENT_COMPLETED where event.cookie == 1 && event.status != SMQ_OK:
        refusal = ExitError(text: "the broker refuses the subscription: \(closeText(event))")
      default: break
      }
    }
    return collected.take()
  }
}

/// Collects packets of a client of this program.
private final class CollectedPackets: PacketObserver {
  private var packets: [SeenPacket] = []
  private var connection: UInt32 = 0

  func take() -> [SeenPacket] {
    defer { packets = [] }
    return packets
  }

  override func packet(_ packet: ObservedPacket) {
    if packet.type == 1 { connection &+= 1 }
    let wall = System.wall
    let comment: Text = "outbox \(packet.outboxMessages), in flight \(packet.inFlight)"
    packets.append(
      SeenPacket(
        client: 0, microseconds: wall.seconds * 1_000_000 + Int64(wall.nanoseconds) / 1000,
        isSent: packet.isSent, length: packet.length, bytes: packet.data, comment: comment.bytes,
        connection: connection))
  }
}
