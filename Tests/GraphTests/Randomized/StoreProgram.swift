@testable import Graph

/// A random program over several contexts of one store. Arguments are plain numbers, read modulo what exists when the step
/// runs, so that a program stays meaningful when steps are taken out of it.
struct StoreProgram: CustomStringConvertible {
    enum Step {
        case insertTeam(context: Int, name: Int)
        case insertPerson(context: Int, name: Int, email: Int, team: Int)
        case rename(context: Int, person: Int, name: Int)
        case setAge(context: Int, person: Int, age: Int)
        case setEmail(context: Int, person: Int, email: Int)
        case setTeam(context: Int, person: Int, team: Int)
        case addMember(context: Int, team: Int, person: Int)
        case renameTeam(context: Int, team: Int, name: Int)
        case deletePerson(context: Int, person: Int)
        case deleteTeam(context: Int, team: Int)
        case save(context: Int)
        case rollback(context: Int)
        case rollbackToLatest(context: Int)
        case refresh(context: Int)
        case failingTransaction(context: Int, person: Int)
        case reopen
    }

    static let contextCount = 3
    var steps: [Step]

    init(steps: [Step]) {
        self.steps = steps
    }

    init(length: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        steps = (0..<length).map { _ in Self.step(&random) }
    }

    private static func step(_ random: inout SeededGenerator) -> Step {
        let context = Int.random(in: 0..<contextCount, using: &random)
        func any() -> Int { Int.random(in: 0..<1000, using: &random) }
        func few() -> Int { Int.random(in: 0..<6, using: &random) }
        switch Int.random(in: 0..<100, using: &random) {
        case ..<8: return .insertTeam(context: context, name: few())
        case ..<22: return .insertPerson(context: context, name: few(), email: any(), team: any())
        case ..<30: return .rename(context: context, person: any(), name: few())
        case ..<36: return .setAge(context: context, person: any(), age: few())
        case ..<40: return .setEmail(context: context, person: any(), email: any() % 40)
        case ..<48: return .setTeam(context: context, person: any(), team: any())
        case ..<53: return .addMember(context: context, team: any(), person: any())
        case ..<56: return .renameTeam(context: context, team: any(), name: few())
        case ..<61: return .deletePerson(context: context, person: any())
        case ..<64: return .deleteTeam(context: context, team: any())
        case ..<80: return .save(context: context)
        case ..<84: return .rollback(context: context)
        case ..<88: return .rollbackToLatest(context: context)
        case ..<95: return .refresh(context: context)
        case ..<98: return .failingTransaction(context: context, person: any())
        default: return .reopen
        }
    }

    var description: String {
        steps.enumerated().map { "  \($0): \($1)" }.joined(separator: "\n")
    }

    /// The shortest program found that still fails, by taking out ever smaller parts (Zeller's ddmin, without its
    /// complements).
    func shrunk(while fails: (StoreProgram) async -> Bool) async -> StoreProgram {
        var program = self
        var length = max(1, steps.count / 2)
        while length > 0 {
            var start = 0
            while start < program.steps.count {
                var shorter = program
                shorter.steps.removeSubrange(start..<min(start + length, shorter.steps.count))
                if await fails(shorter) { program = shorter } else { start += length }
            }
            length /= 2
        }
        return program
    }
}
