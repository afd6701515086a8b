// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Campaign",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Graph", path: "../..")],
    targets: [
        .executableTarget(
            name: "Campaign",
            dependencies: [.product(name: "Graph", package: "Graph")],
            path: "Sources",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        )
    ]
)
