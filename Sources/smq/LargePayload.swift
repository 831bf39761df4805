import CTool

/// A payload that the library reads piece by piece (smq_publish_stream), again after each lost connection.
///
/// A file is read with pread() and not mapped for smq_publish_reference(). Mapped pages count as resident: 200 MB
/// of them, where pread() takes 2.3 MB in all, and no more time. A mapped file that another process truncates
/// raises SIGBUS where TLS or WebSocket copies it, and one that is written to would arrive half old and half new.
@safe
final class LargePayload {
  let size: Int
  /// Why a piece could not be read.
  private(set) var failure: Text?
  private let pieces: [[UInt8]]
  /// The size of all pieces but the last.
  private let pieceSize: Int
  private let file: (descriptor: Int32, state: tool_file, name: Text)?

  /// A file, of which nothing is kept. A file that changes while it is sent is an error: its parts would not match.
  init(_ descriptor: Int32, _ state: tool_file, _ name: Text) {
    size = Int(state.size)
    pieces = []
    pieceSize = 1
    file = (descriptor, state, name)
  }

  init(_ pieces: [[UInt8]], _ size: Int) {
    self.size = size
    self.pieces = pieces
    pieceSize = pieces[0].count
    file = nil
  }

  convenience init(_ bytes: [UInt8]) { self.init([bytes], bytes.count) }

  deinit {
    if let file { System.close(file.descriptor) }
  }

  /// Writes up to `wanted` bytes to `target`. Returns how many; below 0: they cannot be read.
  func read(at offset: Int, into target: UnsafeMutableRawPointer, _ wanted: Int) -> Int32 {
    if let file {
      guard unsafe System.read(file.descriptor, file.state, at: offset, into: target, wanted) else {
        failure = "-f: \(file.name) changed while it was being sent"
        return -1
      }
      return Int32(wanted)
    }
    let piece = pieces[offset / pieceSize]
    let start = offset % pieceSize
    let count = min(wanted, piece.count - start)
    // `count` bytes from `start` are in the piece, and fit into the room.
    unsafe piece.withUnsafeBytes {
      unsafe target.copyMemory(from: $0.baseAddress! + start, byteCount: count)
    }
    return Int32(count)
  }
}
