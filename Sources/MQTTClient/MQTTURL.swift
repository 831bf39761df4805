public import Driver
import Storage

/// The schemes of MQTT.
public enum MQTTScheme: URLScheme {
  public static func carrier(_ text: Span<UInt8>, size: Int) -> Carrier? {
    if ServerURL.hasScheme("mqtt", text, size: size) { return .tcp }
    if ServerURL.hasScheme("mqtts", text, size: size) { return .tls }
    if ServerURL.hasScheme("ws", text, size: size) { return .webSocket }
    if ServerURL.hasScheme("wss", text, size: size) { return .secureWebSocket }
    return ServerURL.hasScheme("unix", text, size: size) ? .file : nil
  }
}

public typealias MQTTURL = SchemedURL<MQTTScheme>

extension MQTTURL {
  @_optimize(size)
  public init(checking text: Span<UInt8>) throws(OptionsError) {
    do throws(URLError) {
      try self.init(parsing: text)
    } catch {
      throw OptionsError(error)
    }
  }
}
