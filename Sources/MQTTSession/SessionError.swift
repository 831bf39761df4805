/// Why a request was not taken. Nothing was changed.
public enum SessionError: UInt8, Error, BitwiseCopyable {
  case leaving  // the connection is being closed at the application's wish
  case topicName
  case utf8
  case tooLarge  // can never be sent
  case full  // no room now
  case qosNotSupported  // above the server's Maximum QoS [MQTT-3.2.2-11]
  case retainNotSupported  // Retain Available is 0 [MQTT-3.2.2-14]
}
