// swift-tools-version: 6.2

import PackageDescription

/// The tests in which threads meet, without the others: with the thread sanitizer, each file takes its time to build.
let package = Package(
    name: "Threads",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Graph", path: "../..")],
    targets: [
        .testTarget(
            name: "ThreadsTests",
            dependencies: [.product(name: "Graph", package: "Graph")],
            path: "Tests",
            sources: [
                "Compaction/AutomaticCompactionTests.swift",
                "Compaction/CompactionTests.swift",
                "Context/DetachedRowTests.swift",
                "Context/SaveInFlightTests.swift",
                "Context/SaveRetryTests.swift",
                "Coordinator/SavingTests.swift",
                "Coordinator/StoreFailureTests.swift",
                "Evolution/ConvertedRowsTests.swift",
                "Isolation/ConcurrencyTests.swift",
                "Isolation/ExecutorTests.swift",
                "Isolation/SeededExecutorTests.swift",
                "Journal/JournalTests.swift",
                "Models",
                "Nesting/TransactionTests.swift",
                "Observation/CommitFeedTests.swift",
                "Policies/Rivals.swift",
                "Randomized/InterleavingTests.swift",
                "Relationships/RelationshipConcurrencyTests.swift",
                "Rows/TokenRow.swift",
                "Support",
                "Transactions",
                "Undo",
            ],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        )
    ]
)
