import Driver
import MQTTWire
import Platform
import Storage
import Transports

/// What carries MQTT. `ConnectionRequest` has the checks.
extension ClientOptions {
  static func checkHosts(
    _ request: borrowing RequestedOptions, _ driver: borrowing DriverOptions
  ) throws(OptionsError) {
    do throws(ConnectionRequestError) {
      try request.connection.checkHosts(driver)
    } catch {
      throw OptionsError(error)
    }
  }

  @_optimize(size)
  @_lifetime(layers: copy request)
  static func setLayers(
    _ request: borrowing RequestedOptions, _ layers: inout LayerOptions, _ version: ProtocolVersion,
    _ sockets: inout SocketOptions
  ) throws(OptionsError) {
    do throws(ConnectionRequestError) {
      try request.connection.setLayers(&layers)
      try request.connection.setSource(&sockets)
    } catch {
      throw OptionsError(error)
    }
    // That of servers of 3.1.
    if version.isV31, layers.isWebSocket, request.connection.webSocketProtocol.count == 0 {
      layers.subprotocols = subprotocols31.bytes
    }
  }

  private static var subprotocols31: StaticString { "mqttv3.1, mqtt" }
}

extension OptionsError {
  init(_ error: ConnectionRequestError) {
    self = error == .option ? .option : .notSupported(at: 0)
  }

  init(_ error: URLError) {
    switch error {
    case .tooLong: self = .option
    case .malformed(let offset): self = .url(at: offset)
    case .unknownScheme: self = .notSupported(at: 0)
    }
  }
}
