public import Driver
import Inspector
public import Platform
import Storage

extension Driver where Engine == MQTTEngine, Link: ~Copyable, System == Linux {
  /// Opens the socket to which programs connect that want to know what the client does. The client's options have one.
  @_optimize(size)
  public mutating func openInspection(permissions: UInt32) throws(PlatformError) {
    try engine.tap.inspection.element.open(permissions: permissions, poller: descriptor)
  }
}
