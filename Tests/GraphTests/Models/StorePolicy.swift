@testable import Graph

/// The merge policies of the programs, for the engine and for the model.
enum StorePolicy: Int, CaseIterable, Sendable {
    case error, storeTrump, objectTrump, overwrite, rollback
    /// Counters add up, and a function decides about tags.
    case functions
    case countersOrRollback, countersOrError

    /// What holds where no function decides.
    var otherwise: StorePolicy {
        switch self {
        case .functions: .objectTrump
        case .countersOrRollback: .rollback
        case .countersOrError: .error
        default: self
        }
    }

    var mergePolicy: MergePolicy {
        switch self {
        case .error: .error
        case .storeTrump: .mergeByPropertyStoreTrump
        case .objectTrump: .mergeByPropertyObjectTrump
        case .overwrite: .overwrite
        case .rollback: .rollback
        case .functions:
            .custom(
                .property(\Library.Cover.color, .counter),
                .property(\Library.Room.number, .counter),
                .entity(Library.Tag.self) { _, ours, theirs in
                    switch Decision(ours?.label, theirs?.label) {
                    case .keep: return .keep
                    case .delete: return .delete
                    case .row(let label):
                        guard var row = ours ?? theirs else { return .keep }
                        row.label = label
                        return .row(row)
                    }
                },
                otherwise: otherwise.mergePolicy
            )
        case .countersOrRollback, .countersOrError:
            .custom(
                .property(\Library.Cover.color, .counter),
                .property(\Library.Room.number, .counter),
                otherwise: otherwise.mergePolicy
            )
        }
    }

    // MARK: For the model

    /// The number of an entity's attribute whose changes add up.
    func counter(of entity: Int) -> Int? {
        guard self != otherwise else { return nil }
        return entity == StoreShape.cover || entity == StoreShape.room ? 0 : nil
    }

    /// What becomes of a tag.
    enum Decision {
        case keep
        case delete
        /// Ours, or theirs if that is all there is, with this label.
        case row(label: Int)

        init(_ ours: Int?, _ theirs: Int?) {
            let (first, second) = (ours ?? 0, theirs ?? 0)
            switch (first + second) / 2 % 3 {
            case 0: self = .keep
            case 1: self = .delete
            default: self = .row(label: max(first, second))
            }
        }
    }

    func hasFunction(for entity: Int) -> Bool { self == .functions && entity == StoreShape.tag }
}
