// swift-tools-version: 6.2

import CompilerPluginSupport
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "Graph",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Graph", targets: ["Graph"]),
        .executable(name: "GraphBench", targets: ["GraphBench"]),
        .executable(name: "graphctl", targets: ["graphctl"]),
    ],
    targets: [
        .target(name: "Graph", dependencies: ["GraphMacrosPlugin"], swiftSettings: settings),
        .macro(name: "GraphMacrosPlugin", dependencies: ["GraphMacros"], swiftSettings: settings),
        .target(name: "GraphMacros", swiftSettings: settings),
        .executableTarget(name: "GraphBench", dependencies: ["Graph"], swiftSettings: settings),
        .executableTarget(name: "graphctl", dependencies: ["Graph"], swiftSettings: settings),
        .executableTarget(
            name: "TestProgram", dependencies: ["Graph"], path: "Tests/TestProgram", swiftSettings: settings),
        .testTarget(
            name: "GraphTests",
            dependencies: ["Graph", "GraphMacros", "TestProgram", "graphctl"],
            exclude: ["Evolution/Golden", "Macros/Expansions", "Model/Golden", "Randomized/Golden"],
            swiftSettings: settings
        ),
        .testTarget(name: "GraphBenchTests", dependencies: ["Graph", "GraphBench"], swiftSettings: settings),
    ]
)
