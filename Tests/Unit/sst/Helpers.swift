@testable import sst

func string(_ text: Text) -> String { String(decoding: text.bytes, as: UTF8.self) }
func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
