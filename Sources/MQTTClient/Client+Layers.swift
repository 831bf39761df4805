public import Driver
import MQTTSession
import Platform
public import Storage
public import Transports

/// What carries MQTT: its secrets, and the requests of its WebSocket.
extension Driver where Engine == MQTTEngine, Link == AnyTransport, System: ~Copyable {
  /// Overwrites secrets, before the block goes back to the application.
  public mutating func wipeSecrets() {
    engine.session.wipeSecrets()
    link.wipeSecrets()
  }

  /// The request of the next attempts.
  @_optimize(size)
  public mutating func setWebSocketRequest(
    path: Span<UInt8>, headers: Span<UInt8>
  ) throws(OptionsError) {
    let path = path.count > 0 ? path : RequestedOptions().connection.usualPath.bytes
    guard LayerOptions.isValid(path: path, headers: headers) else { throw .option }
    guard link.setWebSocketRequest(path: path, headers: headers) else { throw .tooLarge }
  }
}
