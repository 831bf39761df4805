public import Driver
import Storage

/// The schemes of STOMP. `stomp+ssl` is how ActiveMQ writes it.
public enum STOMPScheme: URLScheme {
  public static func carrier(_ text: Span<UInt8>, size: Int) -> Carrier? {
    let names: InlineArray<9, (name: StaticString, carrier: Carrier)> = [
      ("stomp", .tcp), ("stomps", .tls), ("stomp+ssl", .tls), ("stomp+tls", .tls), ("ws", .webSocket),
      ("stomp+ws", .webSocket), ("wss", .secureWebSocket), ("stomp+wss", .secureWebSocket), ("unix", .file),
    ]
    for index in names.indices where ServerURL.hasScheme(names[index].name, text, size: size) {
      return names[index].carrier
    }
    return nil
  }
}

/// User name and password are login and passcode.
public typealias STOMPURL = SchemedURL<STOMPScheme>
