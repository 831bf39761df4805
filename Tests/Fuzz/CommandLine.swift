// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Compiled together with the sources of smq, for the target "smq".

import CSwiftMQTT

/// A command line, up to where it would connect. Words end with a zero.
@c public func fuzz_command_line(_ command: Int32, _ words: UnsafePointer<UInt8>, _ size: Int) -> Int32 {
  let bytes = unsafe [UInt8](UnsafeBufferPointer(start: words, count: size))
  var list: [[UInt8]] = []
  for word in bytes.split(separator: 0, omittingEmptySubsequences: false) { list.append(Array(word)) }
  do throws(ExitError) {
    let arguments = try Arguments(commands[Int(command)], list)
    if arguments.wantsHelp { return usage(of: arguments.command) }
    if arguments.wantsVersion { return 1 }
    _ = try clientOptions(arguments, arguments.version ?? (arguments.command.set == Commands.rr ? 5 : 4))
    _ = brokerName(arguments)
    return 1
  } catch {
    // Each complaint is a line for a person: there is one, and it has no control characters.
    guard !error.text.isEmpty, !error.text.bytes.contains(where: { $0 < 32 || $0 == 127 }) else {
      fatalError()
    }
    return 0
  }
}
