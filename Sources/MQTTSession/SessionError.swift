/// Why a call failed. It changed nothing.
public enum SessionError: UInt8, Error, BitwiseCopyable {
  case leaving  // the application has asked to disconnect
  case state  // not possible now
  case topicName
  case topicFilter
  case utf8
  case property
  case option  // two things that contradict each other, or need another version
  case reasonCode
  case token  // no such message waits to be acknowledged
  case tooLarge  // can never be sent
  case full  // no room now
  case offline  // QoS 0 is not queued without a connection
  case qosNotSupported  // above the server's Maximum QoS [MQTT-3.2.2-11]
  case retainNotSupported  // Retain Available is 0 [MQTT-3.2.2-14]
  case notSupported  // by the server, or by the options of this client
  case journal  // it does not work, and no message is to be accepted without it
}
