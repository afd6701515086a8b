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

/// The library is built once more, so that it counts what is executed; the plugin that the compiler starts is built as ever.
let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    targets: [
        .target(
            name: "Graph", dependencies: ["GraphMacrosPlugin"], path: "Engine/Graph",
            swiftSettings: settings + [
                .unsafeFlags(["-sanitize=fuzzer", "-enable-testing", "-assert-config", "Debug"])
            ]),
        .macro(
            name: "GraphMacrosPlugin", dependencies: ["GraphMacros"], path: "Engine/GraphMacrosPlugin",
            swiftSettings: settings),
        .target(name: "GraphMacros", path: "Engine/GraphMacros", swiftSettings: settings),
        .executableTarget(
            name: "Fuzz",
            dependencies: ["Graph"],
            path: "Sources",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("stdc++")]
        ),
    ]
)
