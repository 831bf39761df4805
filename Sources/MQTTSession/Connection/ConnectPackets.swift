import MQTTWire
import Storage

/// Half a byte as text.
public enum HexDigit {
  public static func upperCase(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

/// CONNECT, encoded once for each version that may be spoken (docs/decisions/0005), and again when its
/// contents change.
struct ConnectPackets: ~Copyable {
  private var region: Region
  /// For 3.1, 3.1.1 and 5.0, behind the Fixed Header and without credentials that come later; empty: not spoken.
  private var bodies: InlineArray<3, ByteRange>
  /// The version that was asked for.
  let version: ProtocolVersion
  /// In the packet of that version.
  private let flagsOffset: Int
  let clientID: ByteRange
  /// `nil`: there is none.
  let authenticationMethod: ByteRange?
  /// The room for a user name and a password that come later; 0: the packets have what they need.
  let credentialBytes: Int
  /// How much of it they take.
  private var credentialSize = 0

  static func size(_ options: borrowing SessionOptions) -> Int {
    var size = 0
    for version in 3...5 as ClosedRange<UInt8> {
      guard let version = ProtocolVersion(rawValue: version), options.speaks(version) else { continue }
      let bodySize = options.connect.bodySize(for: version)
      size += Self.headerSize(bodySize, isFixed: options.credentialBytes == 0) + bodySize
      if options.credentialBytes > 0 { size += 4 + options.credentialBytes }
    }
    return size
  }

  /// Returns the room for a Fixed Header, which can grow if the body does.
  private static func headerSize(_ bodySize: Int, isFixed: Bool) -> Int {
    isFixed ? 1 + VariableByteInteger.encodedSize(bodySize) : 5
  }

  init(region: consuming Region, _ options: borrowing SessionOptions) {
    bodies = InlineArray(repeating: .empty)
    credentialBytes = options.credentialBytes
    version = options.connect.version
    var offset = 0
    for version in 3...5 as ClosedRange<UInt8> {
      guard let version = ProtocolVersion(rawValue: version), options.speaks(version) else { continue }
      let bodySize = options.connect.bodySize(for: version)
      offset += Self.headerSize(bodySize, isFixed: credentialBytes == 0)
      let body = ByteRange(offset: offset, count: bodySize)
      offset += bodySize
      bodies[Self.index(version)] = body
      var writer = ByteWriter(region.mutableBytes(in: Self.packet(body, 0).offset..<offset))
      options.connect.encode(into: &writer, for: version, bodySize: bodySize)
      if credentialBytes > 0 { offset += 4 + credentialBytes }
    }
    let start = bodies[Self.index(version)].offset
    flagsOffset = start + options.connect.flagsOffset
    clientID = ByteRange(offset: start + options.connect.clientIDOffset, count: options.connect.clientIDSize)
    authenticationMethod = Self.method(options.connect.properties)?
      .shifted(by: start + options.connect.propertiesOffset)
    self.region = region
    if options.beginsNewSession { setCleanStart(true) }
  }

  /// Replaces the contents of CONNECT. Returns false if they do not fit (`SessionOptions.connectBytes`).
  mutating func renew(_ options: borrowing SessionOptions) -> Bool {
    guard Self.size(options) <= region.count else { return false }
    wipe()
    let region = region
    self = ConnectPackets(region: region, options)
    return true
  }

  /// Returns the Authentication Method in a list of properties, which was checked with the options.
  static func method(_ properties: Span<UInt8>) -> ByteRange? {
    guard properties.count > 0 else { return nil }
    var reader = PropertyReader(properties, in: .packet(.connect, from: .client))
    while let property = try? reader.next() {
      if property.identifier == .authenticationMethod { return property.text }
    }
    return nil
  }

  /// Returns the range of a version's packet in `bytes`.
  func packet(_ version: ProtocolVersion) -> ByteRange {
    Self.packet(bodies[Self.index(version)], credentialSize)
  }

  /// Returns the range of a body with its Fixed Header and the credentials that follow it.
  private static func packet(_ body: ByteRange, _ credentialSize: Int) -> ByteRange {
    let length = body.count + credentialSize
    let header = 1 + VariableByteInteger.encodedSize(length)
    return ByteRange(offset: body.offset - header, count: header + length)
  }

  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes }
  }

  /// Returns the next older version that may be spoken.
  func older(than version: ProtocolVersion) -> ProtocolVersion? {
    var number = version.rawValue
    while number > 3 {
      number -= 1
      guard let older = ProtocolVersion(rawValue: number) else { return nil }
      if !bodies[Self.index(older)].isEmpty { return older }
    }
    return nil
  }

  /// Writes two hex digits of a random byte for each pair of placeholders, the same into every packet.
  mutating func fillClientID(_ nextByte: () -> UInt8) {
    let id = clientID
    var index = id.offset
    while index < id.end {
      if region.bytes[index] == Connect.placeholder {
        let byte = nextByte()
        var bytes = region.mutableBytes
        bytes[index] = HexDigit.upperCase(byte >> 4)
        bytes[index + 1] = HexDigit.upperCase(byte & 15)
        index += 1
      }
      index += 1
    }
    for older in 0..<Self.index(version) where !bodies[older].isEmpty {
      // The same Client Identifier stands behind a shorter Variable Header: Protocol Name (with its
      // length), version, flags and Keep Alive, and its own length.
      let offset = (older == 0 ? 8 : 6) + 4 + 2
      region.move(from: id.offset, to: bodies[older].offset + offset, count: id.count)
    }
  }

  /// Whether a password needs a user name [MQTT-3.1.2-22] (3.1.1): in a version that may be spoken.
  var needsUserName: Bool { !bodies[0].isEmpty || !bodies[1].isEmpty }

  /// Writes the credentials to the end of the packets, and sets their flags. They fit into
  /// `credentialBytes`.
  mutating func setCredentials(userName: Span<UInt8>, password: Span<UInt8>) {
    let size = Self.sizeWithLength(userName) + Self.sizeWithLength(password)
    credentialSize = size
    for index in 0..<3 where !bodies[index].isEmpty {
      let body = bodies[index]
      var writer = ByteWriter(region.mutableBytes(in: body.end..<body.end + size))
      if userName.count > 0 { writer.put(prefixed: userName) }
      if password.count > 0 { writer.put(prefixed: password) }
      // Longer credentials may have been there before.
      region.wipe(body.end + size..<body.end + 4 + credentialBytes)
      let start = Self.packet(body, size).offset
      var header = ByteWriter(region.mutableBytes(in: start..<body.offset))
      header.put(ControlPacketType.connect.firstByte)
      header.put(variableByteInteger: body.count + size)
      // The Connect Flags follow Protocol Name and version.
      let flags = body.offset + (index == 0 ? 9 : 7)
      var bytes = region.mutableBytes
      let rest = bytes[flags] & ~(Connect.userNameFlag | Connect.passwordFlag)
      bytes[flags] =
        rest | (userName.count > 0 ? Connect.userNameFlag : 0)
        | (password.count > 0 ? Connect.passwordFlag : 0)
    }
  }

  /// Overwrites user name, password and authentication data.
  mutating func wipe() { region.wipe(0..<region.count) }

  private static func sizeWithLength(_ text: Span<UInt8>) -> Int { text.count > 0 ? 2 + text.count : 0 }

  mutating func setCleanStart(_ isSet: Bool) {
    let offset = flagsOffset
    var bytes = region.mutableBytes
    let rest = bytes[offset] & ~Connect.cleanStartFlag
    bytes[offset] = isSet ? rest | Connect.cleanStartFlag : rest
  }

  private static func index(_ version: ProtocolVersion) -> Int { Int(version.rawValue) - 3 }
}
