// swift-tools-version: 6.2
//
// The test build: the same sources with the normal Swift runtime, because an Embedded module can't
// be imported by a normal one. The shipped library is built by CMakeLists.txt.

import PackageDescription

let settings: [SwiftSetting] = [
  // Functions that return spans say what the span depends on (docs/decisions/0003).
  .enableExperimentalFeature("Lifetimes"),
  .strictMemorySafety(),
  .treatWarning("StrictMemorySafety", as: .error),
]

func module(_ name: String, _ dependencies: Target.Dependency...) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, excluding excluded: [String] = [], _ dependencies: Target.Dependency...) -> Target
{
  .testTarget(name: name, dependencies: dependencies, exclude: excluded, swiftSettings: [settings[0]])
}

let package = Package(
  name: "libswiftmqtt",
  targets: [
    module("FixedMemory"),
    module("MQTTWire", "FixedMemory"),
    module("MQTTSession", "MQTTWire", "FixedMemory"),
    .target(name: "CPlatform"),
    module("Platform", "CPlatform"),
    module("Transports", "Platform", "FixedMemory"),
    module("Driver", "Transports", "Platform", "FixedMemory"),
    module("MQTTClient", "Driver", "Transports", "Platform", "MQTTSession", "MQTTWire", "FixedMemory"),
    .systemLibrary(name: "CSwiftMQTT", path: "include"),
    module(
      "SwiftMQTT", "CSwiftMQTT", "MQTTClient", "Driver", "Transports", "Platform", "MQTTSession", "MQTTWire",
      "FixedMemory"),
    .target(name: "CMosquitto"),
    module(
      "MosquittoCompat", "CMosquitto", "CPlatform", "MQTTClient", "Driver", "Transports", "Platform",
      "MQTTSession", "MQTTWire", "FixedMemory"),
    tests("FixedMemoryTests", "FixedMemory"),
    tests("MQTTWireTests", excluding: ["Vectors"], "MQTTWire", "FixedMemory"),
    tests("MQTTSessionTests", "MQTTSession", "MQTTWire", "FixedMemory"),
    tests("DriverTests", "Driver", "Transports", "Platform", "FixedMemory"),
    tests(
      "MQTTClientTests", "MQTTClient", "Driver", "Transports", "Platform", "MQTTSession", "MQTTWire",
      "FixedMemory"),
    tests("SwiftMQTTTests", "SwiftMQTT", "CSwiftMQTT", "MQTTClient", "MQTTWire", "FixedMemory"),
    // Optimised, because it makes 100,000 runs: swift run -c release Simulator
    .executableTarget(
      name: "Simulator",
      dependencies: [
        "MQTTClient", "Driver", "Transports", "Platform", "MQTTSession", "MQTTWire", "FixedMemory",
      ],
      path: "Tests/Simulator",
      swiftSettings: [settings[0]]),
    // For the thread sanitizer: Tests/Broker/test_sanitizers.py and Tests/Compat/test_stress.py build them.
    .executableTarget(
      name: "Submitters", dependencies: ["SwiftMQTT"], path: "Tests/Threads",
      sources: ["submitters.c"],
      cSettings: [.headerSearchPath("../../include")]),
    .executableTarget(
      name: "Stress", dependencies: ["MosquittoCompat", "CMosquitto"], path: "Tests/Compat",
      sources: ["stress.c"]),
  ]
)
