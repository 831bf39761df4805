import Testing

@testable import MQTTSession

@Test func connectAndPublish() throws {
  let rig = Rig()
  rig.connect()
  #expect(rig.isConnected)
  try rig.publish("a", [1], qos: .atLeastOnce, cookie: 7)
  #expect(rig.drain() == [0x32, 6, 0, 1, 0x61, 0, 1, 1])
  rig.receive([0x40, 2, 0, 1])
  #expect(rig.events().count == 2)
}
