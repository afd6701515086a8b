@testable import Graph

/// What a transaction on the coordinator and the program that runs it tell each other, attempt by attempt.
final class TransactionScript: Sendable {
    private typealias Part = (changes: [ModelChange], model: ContextModel)

    /// A stream of which each side takes one element after the other.
    private struct Line<Element: Sendable>: Sendable {
        private let stream: AsyncStream<Element>
        private let continuation: AsyncStream<Element>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func send(_ element: Element) { continuation.yield(element) }
        func finish() { continuation.finish() }

        func next() async -> Element? {
            for await element in stream { return element }
            return nil
        }
    }

    private let begins = Line<Void>()
    private let parts = Line<Part>()
    private let performed = Line<Void>()
    private let mayEndLine = Line<Void>()

    // MARK: For the transaction

    /// What to do; nil if nobody is left to tell.
    func beginAttempt() async -> (changes: [ModelChange], model: ContextModel)? {
        begins.send(())
        return await parts.next()
    }

    func endAttempt() async {
        performed.send(())
        _ = await mayEndLine.next()
    }

    /// There are no more attempts.
    func finish() {
        begins.finish()
        performed.finish()
    }

    // MARK: For the program

    /// False if there is no further attempt.
    func attemptBegins() async -> Bool { await begins.next() != nil }

    func tell(_ changes: [ModelChange], _ model: ContextModel) { parts.send((changes, model)) }

    func attemptEnds() async { _ = await performed.next() }

    func mayEnd() { mayEndLine.send(()) }
}
