#if canImport(Glibc)
  import Glibc
#endif

/// What is wrong with a run.
struct Failure: Error {
  let text: String

  init(_ text: String) { self.text = text }
}

func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(Failure) {
  guard condition else { throw Failure(text()) }
}

/// What happened in a run, for whoever reads it; nothing is written down unless asked for.
final class Trace {
  enum Use { case none, kept, printed }

  private let use: Use
  private(set) var lines: [String] = []
  private var step = 0

  init(_ use: Use) { self.use = use }

  func begin(step: Int) { self.step = step }

  func callAsFunction(_ text: @autoclosure () -> String) {
    switch use {
    case .none: break
    case .kept: lines.append("\(step) \(text())")
    case .printed:
      print("  \(step) \(text())")
      fflush(nil)  // the next may be the last
    }
  }

  /// Bytes, as far as they are readable.
  static func hex(_ bytes: [UInt8]) -> String {
    let text = bytes.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    return bytes.count > 16 ? "\(text) … (\(bytes.count) bytes)" : text
  }
}
