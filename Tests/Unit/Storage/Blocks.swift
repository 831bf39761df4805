import Testing

@testable import Storage

/// Gives `body` a block as a plan asks for, and checks that nothing beyond it was touched.
func withBlock(of plan: ArenaLayout, _ body: (borrowing Arena) -> Void) {
  let guardSize = 32
  let start = UnsafeMutableRawPointer.allocate(
    byteCount: plan.byteCount + guardSize, alignment: ArenaLayout.alignment)
  defer { start.deallocate() }
  start.initializeMemory(as: UInt8.self, repeating: 0xEE, count: plan.byteCount + guardSize)
  body(Arena(start: start))
  let beyond = UnsafeRawBufferPointer(start: start + plan.byteCount, count: guardSize)
  #expect(beyond.allSatisfy { $0 == 0xEE })
}

func withRegion(_ contents: [UInt8], _ body: (inout Region) -> Void) {
  var plan = ArenaLayout()
  let place = plan.reserve(contents.count, of: UInt8.self)
  withBlock(of: plan) { block in
    var region = block.region(place)
    fill(&region, with: contents)
    body(&region)
  }
}

func fill(_ region: inout Region, with contents: [UInt8]) {
  var bytes = region.mutableBytes
  for index in contents.indices { bytes[index] = contents[index] }
}

func array(_ bytes: Span<UInt8>) -> [UInt8] { bytes.indices.map { bytes[$0] } }
