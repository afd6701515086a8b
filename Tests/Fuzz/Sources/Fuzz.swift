import Foundation
import Graph

/// Runs libFuzzer on one target, in a build whose library counts what is executed.
///
///     Fuzz run TARGET [OPTION…] [FOLDER|FILE…]   libFuzzer's own options; with files, each of these once
///     Fuzz unpack TARGET FOLDER                  the repository's inputs as files
///     Fuzz pack TARGET FOLDER                    the other way round
///     Fuzz seeds TARGET FOLDER                   inputs to begin with, from store files
@main enum Fuzz {
    /// What is running. Set before anything runs, and never again.
    nonisolated(unsafe) static var target = FuzzTarget.file

    /// Names the target to the programs that libFuzzer starts.
    private static let variable = "GRAPH_FUZZ_TARGET"

    static func main() async {
        var arguments = CommandLine.arguments
        if arguments.dropFirst().first?.hasPrefix("-") == true, let name = getenv(variable) {
            // libFuzzer starts this program with options of its own.
            arguments.insert(contentsOf: ["run", String(cString: name)], at: 1)
        }
        guard arguments.count > 2, let target = FuzzTarget(rawValue: arguments[2]) else {
            print("Fuzz run|unpack|pack|seeds \(FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")) …")
            exit(2)
        }
        self.target = target
        do {
            switch arguments[1] {
            case "run": run([arguments[0]] + arguments.dropFirst(3))
            case "unpack": try write(FuzzCorpus.inputs(of: target), to: arguments[3])
            case "pack": try pack(arguments[3])
            default: try await write(FuzzSeeds.inputs(of: target), to: arguments[3])
            }
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func write(_ inputs: [[UInt8]], to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (number, input) in inputs.enumerated() {
            try Data(input).write(to: URL(fileURLWithPath: "\(folder)/\(target)-\(number)"))
        }
        print("\(target): \(inputs.count) inputs")
    }

    private static func pack(_ folder: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        var inputs = try names.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($0)"))) }
        inputs.sort { ($0.count, $0.description) < ($1.count, $1.description) }
        let packed = FuzzCorpus.packed(inputs)
        try Data(packed).write(to: FuzzCorpus.folder.appendingPathComponent("\(target).inputs"))
        print("\(target): \(inputs.count) inputs, \(packed.count) bytes")
    }

    // MARK: libFuzzer

    /// More memory than this is not given, used or not: a length in a file must not decide how much is asked for.
    private static let memoryLimitBytes: UInt = 512 << 20

    private static func run(_ arguments: [String]) {
        setenv(variable, target.rawValue, 1)
        var limit = rlimit(rlim_cur: rlim_t(memoryLimitBytes), rlim_max: rlim_t(memoryLimitBytes))
        #if canImport(Darwin)
            setrlimit(RLIMIT_DATA, &limit)
        #else
            setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
        #endif
        var count = CInt(arguments.count)
        // They live as long as the process.
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        pointers.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            exit(runDriver(&count, &start) { bytes, count in Fuzz.test(bytes, count) })
        }
    }

    private static func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        let input = Array(UnsafeBufferPointer(start: bytes, count: count))
        let done = DispatchSemaphore(value: 0)
        let target = target
        Task.detached {
            let findings = await target.findings(input)
            if !findings.isEmpty { fatalError("\(target): \(findings)") }
            done.signal()
        }
        done.wait()
        return 0
    }
}

typealias FuzzedFunction = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

/// libFuzzer's main function. C's convention and Swift's are the same for a few integers and pointers.
@_silgen_name("LLVMFuzzerRunDriver") private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ function: FuzzedFunction
) -> CInt
