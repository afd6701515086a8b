import Foundation
import Testing

@testable import GraphMacros

/// The plugin as the compiler meets it: a program at the other end of two pipes.
struct PluginProcessTests {
    private struct Outcome {
        let answers: [UInt8]
        let error: String
        let status: Int32
        /// Otherwise a signal ended it: a trap, or the watchdog's.
        let exited: Bool
    }

    /// All of the input lies in the pipe before the program begins, which may end without having read it.
    private func run(_ input: [UInt8]) throws -> Outcome {
        try #require(input.count < 60_000)
        let process = Process()
        let pipes = (input: Pipe(), output: Pipe(), error: Pipe())
        process.executableURL = URL(fileURLWithPath: try SwiftCompiler().plugin)
        process.environment = ["SWIFT_BACKTRACE": "enable=no"]
        (process.standardInput, process.standardOutput, process.standardError) = (
            pipes.input, pipes.output, pipes.error
        )
        try pipes.input.fileHandleForWriting.write(contentsOf: input)
        try pipes.input.fileHandleForWriting.close()
        try process.run()
        let identifier = process.processIdentifier
        let watchdog = DispatchWorkItem { kill(identifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 300, execute: watchdog)
        defer { watchdog.cancel() }
        let answers = Array(pipes.output.fileHandleForReading.readDataToEndOfFile())
        let error = String(decoding: pipes.error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(
            answers: answers,
            error: error,
            status: process.terminationStatus,
            exited: process.terminationReason == .exit
        )
    }

    private func header(_ length: UInt64) -> [UInt8] { withUnsafeBytes(of: length.littleEndian) { Array($0) } }

    private func frame(_ message: [UInt8]) -> [UInt8] { header(UInt64(message.count)) + message }

    private func frame(_ message: JSON) -> [UInt8] { frame(message.bytes) }

    private func messages(in answers: [UInt8]) throws -> [JSON] {
        var messages: [JSON] = []
        var rest = answers[...]
        while !rest.isEmpty {
            let length = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
            messages.append(try JSON(Array(rest.dropFirst(8).prefix(length))))
            rest = rest.dropFirst(8 + length)
        }
        return messages
    }

    @Test func `a conversation, with an unknown message in between`() throws {
        let outcome = try run(
            frame(PluginMessages.capability(hostVersion: 7))
                + frame(PluginMessages.expansion(of: "struct A { var a: Int }"))
                + frame(JSON.object(["loadPluginLibrary": .object([:])]))
                + frame(PluginMessages.expansion(of: "struct A { lazy var a = 1 }")))
        #expect(outcome.exited && outcome.status == 0)
        #expect(outcome.error == "")
        let answers = try messages(in: outcome.answers)
        try #require(answers.count == 4)
        #expect(answers[0]["getCapabilityResult"]?["capability"]?["protocolVersion"]?.number == 7)
        let results = answers.dropFirst().map { $0["expandMacroResult"] }
        #expect(results[0]?["expandedSource"]?.string?.contains("EntitySchema<Self>(\"A\")") == true)
        #expect(results.map { $0?["diagnostics"]?.array?.count } == [0, 1, 1])
        #expect(results[1]?["diagnostics"]?.array?[0]["message"]?.string?.contains("'loadPluginLibrary'") == true)
        #expect(results[2]?["diagnostics"]?.array?[0]["position"]?["offset"]?.number == 119)
    }

    /// The compiler closes the pipe when it needs no more; some hosts send an empty message.
    @Test(arguments: [[], [UInt8](repeating: 0, count: 8)])
    func `the end of the input is no failure`(_ input: [UInt8]) throws {
        let outcome = try run(input)
        #expect(outcome.exited && outcome.status == 0)
        #expect(outcome.answers.isEmpty && outcome.error == "")
    }

    @Test func `a length that no message has`() throws {
        for length: UInt64 in [1 << 63, .max, 1 << 40, UInt64(PluginConnection.maximumMessageBytes) + 1] {
            try expectFailure(
                "this is not a message from a Swift compiler; only the compiler runs this program", header(length) + [1]
            )
        }
    }

    @Test func `what somebody types at a terminal`() throws {
        for text in ["--help\n", "hello, what are you?\n", "\n"] {
            try expectFailure(
                "this is not a message from a Swift compiler; only the compiler runs this program", Array(text.utf8))
        }
    }

    @Test func `a message that breaks off`() throws {
        let message = frame(PluginMessages.expansion(of: "struct A {}"))
        try expectFailure(
            "this is not a message from a Swift compiler; only the compiler runs this program", Array(message.prefix(5))
        )
        for length in [8, 9, message.count - 1] {
            try expectFailure("the message ends too early", Array(message.prefix(length)))
        }
        try expectFailure("the message ends too early", header(UInt64(PluginConnection.maximumMessageBytes)) + [1, 2])
    }

    @Test func `a message that is not JSON`() throws {
        try expectFailure("the message is not JSON at byte 1", frame(Array("{garbage}".utf8)))
        try expectFailure("the message is not JSON at byte 0", frame([0xFF, 0xFE, 0]))
        try expectFailure(
            "the message is not JSON at byte 100", frame([UInt8](repeating: UInt8(ascii: "["), count: 50_000)))
    }

    /// One line that says why, and no answer.
    private func expectFailure(_ reason: String, _ input: [UInt8], at location: SourceLocation = #_sourceLocation)
        throws
    {
        let outcome = try run(input)
        #expect(outcome.exited && outcome.status == 1, sourceLocation: location)
        #expect(outcome.error == "GraphMacrosPlugin: \(reason)\n", sourceLocation: location)
        #expect(outcome.answers.isEmpty, sourceLocation: location)
    }
}
