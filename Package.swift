// swift-tools-version: 6.3
//
// The test build: the same sources with the normal Swift runtime, because an Embedded module can't
// be imported by a normal one. The shipped library is built by CMakeLists.txt.
//
// The modules are those of cmake/modules.txt. They are not read from there: the package manager keeps what a
// manifest came to until the manifest itself changes. Tests/Lists/check compares the two.

import PackageDescription

let settings: [SwiftSetting] = [
  // Functions that return spans say what the span depends on (docs/decisions/0003).
  .enableExperimentalFeature("Lifetimes"),
  .strictMemorySafety(),
  .treatWarning("StrictMemorySafety", as: .error),
]
// Tests look into memory that a program would not, and #expect takes expressions apart: marking each as
// unsafe says nothing that the test does not.
let testSettings = [settings[0]]

func module(_ name: String, _ imports: Target.Dependency...) -> Target {
  .target(name: name, dependencies: imports, swiftSettings: settings)
}

/// In the language mode that swiftc has unless it is told: a program is one thread. Sources/CommandLine, which both are
/// compiled with, is in the folder of each as a link, because no folder may be in two targets.
func program(_ name: String, _ imports: Target.Dependency...) -> Target {
  .target(
    name: name, dependencies: imports, exclude: ["CommandLine/completion.bash"],
    swiftSettings: settings + [.swiftLanguageMode(.v5)])
}

/// The tests of Sources/MODULE, which Tests/Unit/MODULE mirrors.
func tests(
  _ name: String, of module: String, excluding excluded: [String] = [], _ imports: Target.Dependency...
) -> Target {
  .testTarget(
    name: name, dependencies: imports, path: "Tests/Unit/\(module)", exclude: excluded,
    swiftSettings: testSettings)
}

/// What several test targets use: Tests/Support has the same for the tests in Python.
func support(_ name: String, _ imports: Target.Dependency...) -> Target {
  .target(name: name, dependencies: imports, path: "Tests/Support/Swift", swiftSettings: testSettings)
}

let package = Package(
  name: "libswiftmqtt",
  targets: [
    .target(name: "CSwiftMQTT"),
    .target(name: "CSwiftSTOMP"),
    .target(name: "CPlatform"),
    .target(name: "CTLSEngine", cSettings: [.headerSearchPath("../../include")]),
    .target(name: "CMosquitto", dependencies: ["CPlatform"]),
    .target(
      name: "CTool", dependencies: ["CPlatform", "CTLSEngine", "CSwiftMQTT"],
      cSettings: [.define("_GNU_SOURCE")]),
    module("Storage"),
    module("CInterface", "Storage"),
    module("Journal", "Storage"),
    module("Capture", "Storage"),
    module("MQTTWire", "Storage"),
    module("STOMPWire", "Storage"),
    module("STOMPSession", "Storage", "Journal", "STOMPWire"),
    module("MQTTSession", "Storage", "Journal", "MQTTWire"),
    module("Platform", "CPlatform"),
    module("Inspector", "Storage", "Platform", "Capture"),
    module("Transports", "CTLSEngine", "Storage", "Platform"),
    module("Driver", "Storage", "Journal", "Platform", "Transports"),
    module(
      "STOMPClient", "Storage", "Journal", "Capture", "Inspector", "STOMPSession", "STOMPWire", "Platform",
      "Transports", "Driver"),
    module(
      "MQTTClient", "Storage", "Journal", "Capture", "Inspector", "MQTTSession", "MQTTWire", "Platform",
      "Transports", "Driver"),
    module(
      "SwiftMQTT", "CSwiftMQTT", "CInterface", "Storage", "MQTTClient", "MQTTSession", "MQTTWire", "Platform",
      "Driver",
      "Transports"),
    module(
      "SwiftSTOMP", "CSwiftSTOMP", "CInterface", "Storage", "Journal", "STOMPClient", "STOMPSession",
      "STOMPWire",
      "Platform", "Driver", "Transports"),
    module(
      "MosquittoCompat", "CMosquitto", "CPlatform", "CTLSEngine", "Storage", "Journal", "MQTTClient",
      "MQTTSession",
      "MQTTWire", "Platform", "Transports", "Driver"),
    program(
      "smq", "CSwiftMQTT", "CTLSEngine", "CTool", "CPlatform", "Storage", "Journal", "Capture", "MQTTWire"),
    program("sst", "CSwiftSTOMP", "CSwiftMQTT", "CTLSEngine", "CTool", "CPlatform", "Storage", "Journal", "Capture"),

    support("TestSupport", "MQTTWire", "Journal", "Storage"),
    tests("JournalTests", of: "Journal", "Journal", "Storage", "TestSupport"),
    tests("CaptureTests", of: "Capture", "Capture", "Storage", "TestSupport"),
    tests("StorageTests", of: "Storage", "Storage", "TestSupport"),
    tests("STOMPWireTests", of: "STOMPWire", "STOMPWire", "Storage", "TestSupport"),
    tests("STOMPClientTests", of: "STOMPClient", "STOMPClient", "Driver", "Storage"),
    tests(
      "STOMPSessionTests", of: "STOMPSession", "STOMPSession", "STOMPWire", "Journal", "Storage",
      "TestSupport"),
    tests(
      "MQTTWireTests", of: "MQTTWire", excluding: ["Vectors"], "MQTTWire", "Storage", "TestSupport"),
    tests(
      "MQTTSessionTests", of: "MQTTSession", "MQTTSession", "MQTTWire", "Journal", "Storage", "TestSupport"),
    tests("TransportsTests", of: "Transports", "Transports", "TestSupport"),
    tests(
      "DriverTests", of: "Driver", "Driver", "Transports", "Platform", "Storage", "CTLSEngine", "TestSupport"),
    tests(
      "MQTTClientTests", of: "MQTTClient", "MQTTClient", "Driver", "Transports", "Platform", "MQTTSession",
      "MQTTWire", "Storage", "TestSupport"),
    tests(
      "SwiftMQTTTests", of: "SwiftMQTT", "SwiftMQTT", "CSwiftMQTT", "MQTTClient", "MQTTWire", "Storage",
      "TestSupport"),
    tests("SmqTests", of: "smq", "smq", "SwiftMQTT"),
    tests("SstTests", of: "sst", "sst", "SwiftSTOMP"),
    // Optimised, because it makes 100,000 runs: swift run -c release Simulator
    .executableTarget(
      name: "Simulator",
      dependencies: [
        "MQTTClient", "Driver", "Transports", "Platform", "MQTTSession", "MQTTWire", "Journal", "Storage",
        "TestSupport",
      ],
      path: "Tests/Simulator",
      swiftSettings: testSettings),
    // For Autobahn's fuzzing server: Tests/Library/test_autobahn.py builds it.
    .executableTarget(
      name: "WebSocketEcho", dependencies: ["Transports", "Storage"], path: "Tests/Autobahn",
      swiftSettings: testSettings),
    // For the thread sanitizer: Tests/Library/test_sanitizers.py and Tests/Compat/test_stress.py build them.
    .executableTarget(
      name: "Submitters", dependencies: ["SwiftMQTT"], path: "Tests/Threads",
      sources: ["submitters.c"],
      cSettings: [.headerSearchPath("../../include")]),
    .executableTarget(
      name: "Stress", dependencies: ["MosquittoCompat", "CMosquitto"], path: "Tests/Compat",
      sources: ["stress.c"]),
  ]
)
