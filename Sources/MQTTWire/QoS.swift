/// Quality of Service (§4.3). Raw values are those of the wire.
public enum QoS: UInt8, BitwiseCopyable {
  case atMostOnce = 0
  case atLeastOnce = 1
  case exactlyOnce = 2
}
