import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// Simulator [--journal | --driver [--backlog] [--stopped-threads]] [--runs N] [--seed FIRST] [--replay SEED] [--jobs N]
struct Arguments: Sendable {
  /// Clients, with their driver, instead of sessions.
  var isDriver = false
  /// The log of the journal, on a disk that loses power.
  var isJournal = false
  var hardships = Hardships()
  var runs = 1000
  var seed: UInt64 = 1
  var replay: UInt64? = nil
  var jobs = min(64, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

  init() {
    var words = CommandLine.arguments.dropFirst()
    while let word = words.popFirst() {
      switch word {
      case "--driver": isDriver = true
      case "--journal": isJournal = true
      case "--backlog": hardships.hasBacklog = true
      case "--stopped-threads": hardships.stopsThreads = true
      default: read(word, &words)
      }
    }
  }

  private mutating func read(_ word: String, _ words: inout ArraySlice<String>) {
    guard let number = words.popFirst().flatMap({ UInt64($0) }) else { Self.giveUp() }
    switch word {
    case "--runs": runs = Int(number)
    case "--seed": seed = number
    case "--replay": replay = number
    case "--jobs": jobs = Int(number)
    default: Self.giveUp()
    }
  }

  static func giveUp() -> Never {
    print("usage: Simulator [--journal | --driver [--backlog] [--stopped-threads]]")
    print("                 [--runs N] [--seed FIRST] [--replay SEED] [--jobs N]")
    exit(2)
  }
}

/// The seeds that are being run, for the case that one ends the process.
nonisolated(unsafe) let running = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)

/// Runs a seed. What is wrong with it, and how much of what happened.
typealias Runner<Kind: CountKind> = @Sendable (UInt64, Trace) -> (failure: Failure?, counts: Counts<Kind>)

func runSessions(_ seed: UInt64, _ trace: Trace) -> (failure: Failure?, counts: Counts<SessionCount>) {
  let run = Run(seed: seed, trace: trace)
  return (failure(of: run.run), run.counts)
}

func failure(of run: () throws(Failure) -> Void) -> Failure? {
  do throws(Failure) {
    try run()
    return nil
  } catch {
    return error
  }
}

func replay<Kind>(_ seed: UInt64, _ run: Runner<Kind>) -> Bool {
  let failure = run(seed, Trace(.printed)).failure
  print("seed \(seed): \(failure?.text ?? "passed")")
  return failure == nil
}

/// The last of what happened in a run that failed.
func show<Kind>(_ seed: UInt64, _ run: Runner<Kind>) {
  let trace = Trace(.kept)
  let failure = run(seed, trace).failure
  print("  …")
  for line in trace.lines.suffix(60) { print("  \(line)") }
  print("seed \(seed): \(failure?.text ?? "passed")\n")
}

struct Result<Kind: CountKind>: Sendable {
  var failures: [(seed: UInt64, failure: Failure)] = []
  var counts = Counts<Kind>()
}

/// Every seed from `arguments.seed` on; those that failed, with what is wrong.
func runAll<Kind>(_ arguments: Arguments, _ run: @escaping Runner<Kind>) async -> Result<Kind> {
  await withTaskGroup(of: Result<Kind>.self) { group in
    for job in 0..<arguments.jobs {
      group.addTask {
        var result = Result<Kind>()
        for index in stride(from: job, to: arguments.runs, by: arguments.jobs) {
          let seed = arguments.seed + UInt64(index)
          unsafe running[job] = seed
          let (failure, counts) = run(seed, Trace(.none))
          result.counts += counts
          if let failure { result.failures.append((seed, failure)) }
        }
        return result
      }
    }
    var sum = Result<Kind>()
    for await result in group {
      sum.failures += result.failures
      sum.counts += result.counts
    }
    sum.failures.sort { $0.seed < $1.seed }
    return sum
  }
}

/// Does what the arguments say. The exit status.
func main<Kind>(_ arguments: Arguments, _ run: @escaping Runner<Kind>) async -> Int32 {
  if let seed = arguments.replay {
    unsafe running[0] = seed
    return replay(seed, run) ? 0 : 1
  }
  let result = await runAll(arguments, run)
  for failed in result.failures.prefix(3) { show(failed.seed, run) }
  for failed in result.failures.prefix(20) { print("seed \(failed.seed): \(failed.failure.text)") }
  print(result.counts.text)
  // Many runs that never see something are as good as a failed one.
  let notRedelivered = Kind.allCases.filter { result.counts[$0] < arguments.runs / 200 }
  if arguments.runs >= 10_000, !notRedelivered.isEmpty {
    print("hardly ever: \(notRedelivered)")
    return 1
  }
  print("\(arguments.runs - result.failures.count) passed, \(result.failures.count) failed")
  return result.failures.isEmpty ? 0 : 1
}

let arguments = Arguments()
for job in 0..<64 { unsafe running[job] = 0 }
for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT] {
  signal(number) { number in
    for job in 0..<64 where unsafe running[job] != 0 {
      let line = "crashed, perhaps in seed \(unsafe running[job])\n".bytes
      unsafe line.withUnsafeBytes { bytes in _ = unsafe write(2, bytes.baseAddress, bytes.count) }
    }
    signal(number, SIG_DFL)
    raise(number)
  }
}
if arguments.isJournal {
  exit(
    await main(arguments) { seed, trace in
      let run = JournalRun(seed: seed, trace: trace)
      return (failure(of: run.run), run.counts)
    })
}
guard arguments.isDriver else { exit(await main(arguments, runSessions)) }
let hardships = arguments.hardships
exit(
  await main(arguments) { seed, trace in
    let run = DriverRun(seed: seed, trace: trace, hardships)
    return (failure(of: run.run), run.counts)
  })
