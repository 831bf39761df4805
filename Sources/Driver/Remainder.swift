extension UInt32 {
  /// What is left of it, divided by another number; not zero. Processors without a division, such as many ARMv7, have 640 bytes
  /// of libgcc for it, and here it is seldom needed.
  @inline(never)
  func remainder(by divisor: UInt32) -> UInt32 {
    precondition(divisor > 0)
    var rest = self
    var multiple = divisor
    while multiple <= rest >> 1 { multiple <<= 1 }
    while true {
      if rest >= multiple { rest &-= multiple }
      if multiple == divisor { return rest }
      multiple >>= 1
    }
  }
}
