@testable import Graph

/// One thing that a transaction does with keys, of which a new one gives way to one that is there when it is saved.
enum LedgerKeyStep: Sendable, Hashable {
    case insert(Ledger.KeyKind, value: Int)
    case find(Ledger.KeyKind, value: Int)
    case change(key: Int)
    case delete(key: Int)

    static func random(_ random: inout SeededGenerator) -> LedgerKeyStep {
        func number() -> Int { Int.random(in: 0..<60, using: &random) }
        let kind = Ledger.KeyKind.allCases[number() % Ledger.KeyKind.allCases.count]
        switch number() % 8 {
        case 0..<4: return .insert(kind, value: number() % 3)
        case 4, 5: return .find(kind, value: number() % 3)
        case 6: return .change(key: number())
        default: return .delete(key: number())
        }
    }
}

extension Ledger {
    /// By which property a key is unique, and so what becomes of a new one with a value that another one has.
    enum KeyKind: String, Sendable, CaseIterable {
        case upserted
        case replaced
        case kept

        func key(_ value: Int, stamp: Int) -> Key {
            var key = Key(stamp: stamp)
            switch self {
            case .upserted: key.upserted = value
            case .replaced: key.replaced = value
            case .kept: key.kept = value
            }
            return key
        }

        func predicate(_ value: Int) -> History.Predicate { History.Predicate(name: "\(rawValue) \(value)") }
    }
}

extension Ledger.Key {
    func value(_ kind: Ledger.KeyKind) -> Int? {
        switch kind {
        case .upserted: upserted
        case .replaced: replaced
        case .kept: kept
        }
    }

    var matches: Set<History.Predicate> {
        Set(Ledger.KeyKind.allCases.compactMap { kind in value(kind).map { kind.predicate($0) } })
    }
}

extension History.Predicate {
    /// Whether a new row that meets this takes over what the one has that meets it already; nil if it is not about keys.
    var takesOver: Bool? {
        switch name.split(separator: " ").first.flatMap({ Ledger.KeyKind(rawValue: String($0)) }) {
        case .upserted, .replaced: true
        case .kept: false
        case nil: nil
        }
    }
}

extension Context {
    func take(_ step: LedgerKeyStep, _ choices: LedgerChoices, _ trace: inout LedgerTrace) throws {
        switch step {
        case .insert(let kind, let value):
            writing(&trace) { $0.inserted.keys.append(insert(kind.key(value, stamp: choices.stamp)).id) }
        case .find(let kind, let value):
            let objects =
                switch kind {
                case .upserted: fetch(\Ledger.Key.upserted, equals: value)
                case .replaced: try fetch(Ledger.Key.self, where: { $0.replaced == value })
                // A new one gives way when it is saved: until then there may be two, of which `first` finds one.
                case .kept where state.flushed.fetchCount(\Ledger.Key.kept, equals: value) > 1:
                    fetch(\Ledger.Key.kept, equals: value)
                case .kept: [first(\Ledger.Key.kept, equals: value)].compactMap { $0 }
                }
            var found: [History.Row: History.Sighting] = [:]
            for object in objects {
                found[History.Row(name: object.id.name)] = .present(
                    version: object.version.number, stamp: object.stamp)
            }
            trace.operations.append(.search(kind.predicate(value), found: found))
        case .change(let key):
            guard let object = look(choices.key(key), &trace) else { break }
            writing(&trace) { _ in object.stamp = choices.stamp }
        case .delete(let key):
            delete(choices.key(key), &trace)
        }
    }
}
