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
    module("Storage"),
    module("MQTTWire", "Storage"),
    module("MQTTSession", "MQTTWire", "Storage"),
    .target(name: "CPlatform"),
    module("MQTTTransport", "CPlatform"),
    module("MQTTClient", "MQTTSession", "MQTTTransport", "MQTTWire", "CPlatform", "Storage"),
    .systemLibrary(name: "CSwiftMQTT", path: "include"),
    module(
      "SwiftMQTT", "CSwiftMQTT", "MQTTClient", "MQTTSession", "MQTTTransport", "MQTTWire",
      "Storage"),
    .target(name: "CMosquitto"),
    module(
      "MosquittoCompat", "CMosquitto", "CPlatform", "MQTTClient", "MQTTSession", "MQTTTransport", "MQTTWire",
      "Storage"),
    tests("StorageTests", "Storage"),
    tests("MQTTWireTests", excluding: ["Vectors"], "MQTTWire", "Storage"),
    tests("MQTTSessionTests", "MQTTSession", "MQTTWire", "Storage"),
    tests(
      "MQTTClientTests", "MQTTClient", "MQTTSession", "MQTTTransport", "MQTTWire", "CPlatform", "Storage"),
    // Optimised, because it makes 100,000 runs: swift run -c release Simulator
    .executableTarget(
      name: "Simulator",
      dependencies: ["MQTTClient", "MQTTSession", "MQTTTransport", "MQTTWire", "CPlatform", "Storage"],
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
