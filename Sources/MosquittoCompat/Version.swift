// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CMosquitto

@c public func mosquitto_lib_version(
  _ major: UnsafeMutablePointer<Int32>?, _ minor: UnsafeMutablePointer<Int32>?,
  _ revision: UnsafeMutablePointer<Int32>?
) -> Int32 {
  unsafe major?.pointee = 2
  unsafe minor?.pointee = 0
  unsafe revision?.pointee = 11
  return 2_000_011
}
