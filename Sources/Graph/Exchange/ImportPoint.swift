/// How far an import is.
public struct ImportProgress: Sendable, Hashable {
    /// Rows that were read.
    public internal(set) var rowCount = 0
    /// Links that were read.
    public internal(set) var linkCount = 0
    /// Where the import can be resumed: behind the last batch that was saved; nil before that.
    public internal(set) var point: ImportPoint?
}

/// A place in an import behind a batch that was saved: how much of the sources that was, and what rows their identifiers have
/// become.
///
/// Keep it, by `Codable`, if the import is to go on after the program was ended; it takes little room where identifiers of the
/// sources follow each other. It belongs to the store, and to the sources as they are in front of this place.
public struct ImportPoint: Sendable, Hashable, Codable {
    /// The store's state when the batch was saved. If the newest one has another token, others have saved since, or this import
    /// has, and was ended before the program kept the next point.
    public internal(set) var token = HistoryToken()
    /// The source that the import was reading, from 0, and how many of its records are done.
    var source = 0
    var recordCount = 0
    var rowCount = 0
    var linkCount = 0
    /// The names of the store's entities, which the numbers of entities here count.
    var entities: [String]
    /// By entity: the rows of identifiers, and the numbers that this import has taken to keep identifiers; nil if it maps them.
    var identifiers: [IdentifierMap]
    var taken: [[ClosedRange<RowNumber>]]?
    /// References to identifiers that have not come yet.
    var waiting = WaitingList<WaitingReference>()
    /// Links of which one end has not come yet.
    var waitingLinks = WaitingList<WaitingLinks>()

    /// The beginning.
    init(_ schema: Schema, keepsIdentifiers: Bool) {
        entities = schema.entities.map(\.name)
        identifiers = schema.entities.map { _ in IdentifierMap() }
        taken = keepsIdentifiers ? schema.entities.map { _ in [] } : nil
    }

    /// Prepares a copy, so that what this import does next costs no more than itself.
    mutating func share() {
        for entity in identifiers.indices { identifiers[entity].share() }
        waiting.share()
        waitingLinks.share()
    }

    /// No count gets there.
    private static let countLimit = 1 << 60

    /// Whether all numbers are ones of the sources, of the schema, and of rows that the store has given out.
    func fits(_ schema: Schema, _ counters: [RowNumber], sourceCount: Int) -> Bool {
        let count = schema.entities.count
        func fits(_ reference: WaitingReference) -> Bool {
            schema.entities.indices.contains(reference.entity)
                && schema.entities[reference.entity].toOnes.indices.contains(reference.toOne)
        }
        func fits(_ links: WaitingLinks) -> Bool {
            schema.entities.indices.contains(links.entity)
                && schema.entities[links.entity].toManys.indices.contains(links.toMany)
        }
        let counts = 0...Self.countLimit
        guard (0...sourceCount).contains(source), counts.contains(recordCount), counts.contains(rowCount),
            counts.contains(linkCount)
        else { return false }
        return entities == schema.entities.map(\.name) && identifiers.count == count && taken?.count ?? count == count
            && zip(taken ?? [], counters).allSatisfy { ranges, next in ranges.allSatisfy { $0.upperBound < next } }
            && waiting.elements.allSatisfy(fits) && waitingLinks.elements.allSatisfy(fits)
    }
}

/// A reference of a row to an identifier that has no row yet.
struct WaitingReference: Sendable, Hashable, Codable {
    /// The entity of the row that refers, and the number of the reference among its `toOnes`.
    let entity: Int
    let toOne: Int
    let row: RowNumber
    /// As the source has it.
    let target: UInt64
    let line: SourceLine
}

/// Members of an owner, all as their source has them.
struct WaitingLinks: Sendable, Hashable, Codable {
    /// The owners' entity, and the number of the relationship among its `toManys`.
    let entity: Int
    let toMany: Int
    let owner: UInt64
    let members: [UInt64]
    let line: SourceLine
}

/// A line of one of the sources.
struct SourceLine: Sendable, Hashable, Codable {
    let source: Int
    let line: Int
}
