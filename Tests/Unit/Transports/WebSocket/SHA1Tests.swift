import TestSupport
import Testing

@testable import Transports

@Suite struct SHA1Tests {
  private func hash(_ bytes: [UInt8]) -> [UInt8] {
    let digest = SHA1.hash(bytes.span)
    return digest.span.array
  }

  /// RFC 3174 section 7.3.
  @Test func theVectorsOfTheStandard() {
    #expect(
      hash("abc".bytes) == hex("A9 99 3E 36 47 06 81 6A BA 3E 25 71 78 50 C2 6C 9C D0 D8 9D"))
    #expect(
      hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".bytes)
        == hex("84 98 3E 44 1C 3B D2 6E BA AE 4A A1 F9 51 29 E5 E5 46 70 F1"))
    #expect(
      hash([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
        == hex("34 AA 97 3C D4 C4 DA A4 F6 1E EB 2B DB AD 27 31 65 34 01 6F"))
    let text = String(repeating: "01234567", count: 80)
    #expect(
      hash(text.bytes) == hex("DE A3 56 A2 CD DD 90 C7 A7 EC ED C5 EB B5 63 93 4F 46 04 52"))
  }

  /// The end of a message, the bit behind it and its length are in one block, or in two (section 4).
  @Test func eachLengthAroundABlock() {
    #expect(hash([]) == hex("DA 39 A3 EE 5E 6B 4B 0D 32 55 BF EF 95 60 18 90 AF D8 07 09"))
    // From sha1sum(1): so many letters a.
    let digests = [
      55: "C1 C8 BB DC 22 79 6E 28 C0 E1 51 63 D2 08 99 B6 56 21 D6 5A",
      56: "C2 DB 33 0F 60 83 85 4C 99 D4 B5 BF B6 E8 F2 9F 20 1B E6 99",
      63: "03 F0 9F 5B 15 8A 7A 8C DA D9 20 BD DC 29 B8 1C 18 A5 51 F5",
      64: "00 98 BA 82 4B 5C 16 42 7B D7 A1 12 2A 5A 44 2A 25 EC 64 4D",
      65: "11 65 53 26 C7 08 D7 03 19 BE 26 10 E8 A5 7D 9A 5B 95 9D 3B",
    ]
    for (count, digest) in digests {
      #expect(hash([UInt8](repeating: UInt8(ascii: "a"), count: count)) == hex(digest), "\(count)")
    }
  }
}
