/// How a live result differs from the one before, and the result itself.
///
/// Indices are those that a collection view takes: take the removed and the moved ones out of the list before, and put the
/// inserted and the moved ones in, and you have the list after. With sections, indices still count through the whole list.
///
/// ```swift
/// for index in update.removed.reversed() { list.remove(at: index) }       // without moves
/// for index in update.inserted { list.insert(update.values[index].id, at: index) }
/// ```
public struct ResultUpdate<E: Entity>: Sendable {
    let changes: ResultChanges
    let rows: ResultRows<E>

    /// The objects of the result, in its order, with their values.
    public var values: ResultValues<E> { ResultValues(rows: rows) }
    /// Where objects leave the list, as indices of the list before, ascending.
    public var removed: [Int] { changes.removed }
    /// Where objects come into the list, as indices of the list after, ascending.
    public var inserted: [Int] { changes.inserted }
    /// Objects that change places, in the order of the list after; as few as possible among those that have changed, or whose sort
    /// leads to an object that has.
    public var moved: [ResultMove] { changes.moved }
    /// Where the list after shows objects that were in the list before and have other values now; moved ones are among them.
    public var updated: [Int] { changes.updated }

    /// The indices of each section in the list after; none without sections.
    public var sections: [Range<Int>] { rows.sectionRanges }
    /// Sections that are gone, as numbers of the sections before. Their objects are in `removed` or `moved`, too.
    public var removedSections: [Int] { changes.removedSections }
    /// Sections that are new, as numbers of the sections after. Their objects are in `inserted` or `moved`, too.
    public var insertedSections: [Int] { changes.insertedSections }
    /// The other sections in which anything differs, as numbers of the sections after.
    public var updatedSections: [Int] { changes.updatedSections }
}

extension ResultUpdate: CustomStringConvertible {
    /// `removed [0], inserted [2, 3]`, or `no changes`.
    public var description: String {
        let moves = moved.map { "\($0.from) to \($0.to)" }
        let parts = [
            removed.isEmpty ? nil : "removed \(removed)", inserted.isEmpty ? nil : "inserted \(inserted)",
            moves.isEmpty ? nil : "moved \(moves.joined(separator: ", "))",
            updated.isEmpty ? nil : "updated \(updated)",
        ]
        let text = parts.compactMap { $0 }.joined(separator: ", ")
        return text.isEmpty ? "no changes" : text
    }
}

/// The objects of a result, as values with their identifiers. Values are read when they are looked at.
public struct ResultValues<E: Entity>: RandomAccessCollection, Sendable {
    let rows: ResultRows<E>

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { rows.count }

    /// The object at an index.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public subscript(index: Int) -> IdentifiedValue<E> {
        let row = rows.row(at: index)
        return IdentifiedValue(id: PersistentID(row: row), value: rows.value(of: row))
    }
}

extension ResultRows {
    func value(of row: RowNumber) -> E {
        withExtendedLifetime(snapshot) {
            address(of: row).row(as: E.self, in: snapshot.entities[entity].rows.layout).pointee
        }
    }

    var sectionRanges: [Range<Int>] {
        var start = 0
        return sections.map { section in
            defer { start += section.count }
            return start..<start + section.count
        }
    }
}
