/// Something that a history should not show.
struct Anomaly: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        /// Writes in a circle: two transactions' writes are mixed.
        case g0 = "G0"
        /// A read of what a rejected transaction wrote.
        case g1a = "G1a"
        /// A read of what its writer went on to overwrite itself.
        case g1b = "G1b"
        /// Information flows in a circle.
        case g1c = "G1c"
        /// A transaction was seen, and what it wrote elsewhere was not seen later on: observed transaction vanishes.
        case otv = "OTV"
        /// Two searches of one transaction are of different states: predicate-many-preceders.
        case pmp = "PMP"
        /// A write on top of a version that is not the newest: lost update.
        case p4 = "P4"
        /// Another way to see part of a transaction: a circle with one overwritten read, as in read skew.
        case gSingle = "G-single"
        /// Two transactions see two others in different orders, also called long fork: a circle with several overwritten
        /// reads, of which no two follow each other.
        case gNonadjacent = "G-nonadjacent"
        /// A circle in which reads that were overwritten follow each other, as in write skew.
        case g2Item = "G2-item"
        /// The same with a search among those reads, as with phantoms.
        case g2 = "G2"
        /// A transaction does not see what it wrote itself.
        case ownWrite = "own write"
        /// A read of what nobody wrote.
        case garbage = "garbage"
        /// A search gives other rows than those that meet its predicate in the state that it was of.
        case search = "search"
        /// Two transactions made the same version of a row, or versions and commit numbers go different ways.
        case numbering = "numbering"
    }

    let kind: Kind
    /// Whether it takes real time, or the order of one session's transactions, to see that something is wrong.
    var needsTime = false
    /// What happened, with the circle if it is one.
    let text: String
}

extension Anomaly: CustomStringConvertible {
    var description: String { "\(kind.rawValue)\(needsTime ? " in time" : ""): \(text)" }
}
