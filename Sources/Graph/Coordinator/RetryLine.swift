/// The line of transactions that try again: one of them at a time has the turn, and the one that met its conflict first comes
/// first. Part of an actor's state.
///
/// The turn is advisory, not a lock. The transaction that has it may wait for another task, whose own transaction may wait in the
/// line, and nobody can see that. So a turn that lasts too long is passed on, and its transaction goes on without it.
struct RetryLine {
    /// A transaction's right to its place, however often it comes back.
    struct Ticket: Sendable {
        fileprivate let number: Int
    }

    /// One time that somebody had the turn.
    struct Turn: Equatable, Sendable {
        fileprivate let number: Int
    }

    /// How long a turn lasts at least before it is passed on; twice as long at most.
    static let longestTurn = Duration.milliseconds(10)

    private var ticketCount = 0
    private var turnCount = 0
    private(set) var holder: Int?
    /// By the numbers of their tickets.
    private var waiting: [(ticket: Int, continuation: CheckedContinuation<Void, Never>)] = []

    mutating func nextTicket() -> Ticket {
        ticketCount += 1
        return Ticket(number: ticketCount)
    }

    /// True if the transaction has the turn now; otherwise it waits, with no suspension before that.
    mutating func take(_ ticket: Ticket) -> Bool {
        if holder == nil { give(to: ticket.number) }
        return holder == ticket.number
    }

    mutating func wait(_ ticket: Ticket, _ continuation: CheckedContinuation<Void, Never>) {
        let place = waiting.firstIndex { $0.ticket > ticket.number } ?? waiting.endIndex
        waiting.insert((ticket.number, continuation), at: place)
    }

    /// Hands the turn to the first in line. Does nothing if the transaction has lost it already.
    mutating func end(_ ticket: Ticket) {
        if holder == ticket.number { pass() }
    }

    /// The turn for whose end somebody waits.
    var contendedTurn: Turn? { waiting.isEmpty ? nil : Turn(number: turnCount) }

    /// Passes a turn on, if it still lasts.
    mutating func end(_ turn: Turn) {
        if turn == contendedTurn { pass() }
    }

    private mutating func give(to ticket: Int) {
        holder = ticket
        turnCount += 1
    }

    private mutating func pass() {
        holder = nil
        guard !waiting.isEmpty else { return }
        let next = waiting.removeFirst()
        give(to: next.ticket)
        next.continuation.resume()
    }
}
