import CTool

/// How a piece of a line looks.
enum Style {
  case plain, bold, dim, reverse, good, notable, warning, bad

  /// The parameters of SGR (ECMA-48, 8.3.117).
  fileprivate var parameters: StaticString {
    switch self {
    case .plain: "0"
    case .bold: "0;1"
    case .dim: "0;2"
    case .reverse: "0;7"
    case .good: "0;32"
    case .notable: "0;36"
    case .warning: "0;33"
    case .bad: "0;31"
    }
  }

  /// Without colours.
  fileprivate var isColour: Bool {
    switch self {
    case .good, .notable, .warning, .bad: true
    case .plain, .bold, .dim, .reverse: false
    }
  }
}

/// A line of the screen: pieces of text, each in its style. No piece controls the terminal, whatever bytes it is made of.
struct Line {
  private(set) var pieces: [(style: Style, text: [UInt8])] = []
  /// How many columns it has: one for each character.
  private(set) var width = 0

  init() {}
  init(_ text: Text, _ style: Style = .plain) { add(text, style) }

  mutating func add(_ text: Text, _ style: Style = .plain) {
    let shown = text.bytes.escaped
    guard !shown.isEmpty else { return }
    pieces.append((style, shown))
    width += shown.columns
  }

  /// Blanks up to a column.
  mutating func fill(to column: Int, _ style: Style = .plain) {
    if width < column { add(Text([UInt8](repeating: 32, count: column - width)), style) }
  }

  /// Puts a text at the right of a number of columns, which ends at `column`.
  mutating func add(_ text: Text, rightTo column: Int, _ style: Style = .plain) {
    fill(to: column - text.bytes.escaped.columns, style)
    add(text, style)
  }

  /// Without styles.
  var plain: [UInt8] { pieces.flatMap { $0.text } }

  fileprivate func shown(columns: Int, hasColours: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    var left = columns
    for piece in pieces where left > 0 {
      let text = piece.text.prefix(columns: left)
      left -= text.columns
      let style = piece.style.isColour && !hasColours ? Style.plain : piece.style
      bytes += [27, 91] + style.parameters.bytes + [109] + text
    }
    return bytes + ascii("\u{1b}[0m")
  }
}

extension [UInt8] {
  /// How many characters of UTF-8 there are.
  var columns: Int { reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) } }

  func prefix(columns: Int) -> [UInt8] {
    var left = columns
    for (index, byte) in enumerated() where byte & 0xC0 != 0x80 {
      if left == 0 { return Array(self[..<index]) }
      left -= 1
    }
    return self
  }
}

/// The whole terminal, for a program that shows what changes.
final class Screen {
  private(set) var rows = 24
  private(set) var columns = 80
  private let hasColours = System.environment("NO_COLOR").isEmpty
  private var isOn = false

  /// Throws without a terminal, at which keys can be typed.
  init() throws(ExitError) {
    guard System.isTerminal(1), System.isTerminal(0) else {
      throw usageError("standard input and output are no terminal: use --once, or --json")
    }
  }

  deinit { leave() }

  func enter() throws(ExitError) {
    let error = System.takeKeys()
    guard error == 0 else { throw ExitError(text: "the terminal: \(System.errorText(error))") }
    isOn = true
    // The alternate screen, no cursor, and no line that continues in the next one.
    say("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l", to: 1)
    measure()
  }

  func leave() {
    guard isOn else { return }
    isOn = false
    say("\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l", to: 1)
    System.giveKeysBack()
  }

  /// The terminal may have another size since.
  func measure() { (rows, columns) = System.terminalSize }

  /// Shows these lines, and nothing else.
  func draw(_ lines: [Line]) {
    var text: [UInt8] = ascii("\u{1b}[H")
    for row in 0..<rows {
      if row < lines.count { text += lines[row].shown(columns: columns, hasColours: hasColours) }
      text += row < rows - 1 ? ascii("\u{1b}[K\r\n") : ascii("\u{1b}[K")
    }
    _ = System.write(1, text)
  }
}
