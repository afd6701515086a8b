/// The rows of one entity in a state of the past: those of the newest state, but for the ones that have changed since.
///
/// Those have places in a table of their own, in the order in which they first changed. So a change takes the memory of one row,
/// and none of a leaf of the newest table, and commits that follow each other find their rows side by side.
struct PastRows: Sendable {
    private var newest: RowTable
    /// Whether rows change in leaves of the whole table, which are copied once, and not beside it: for who asks for all
    /// rows in the end.
    private let isWhole: Bool
    private var places: [RowNumber: UInt64] = [:]
    /// By place. A place without a row stands for a row that does not exist.
    private var rows: RowTable

    init(_ newest: RowTable, isWhole: Bool) {
        (self.newest, self.isWhole) = (newest, isWhole)
        rows = RowTable(layout: newest.layout)
    }

    func contains(_ row: RowNumber) -> Bool {
        places[row].map(rows.contains) ?? newest.contains(row)
    }

    /// Valid until this value changes.
    func row(_ row: RowNumber) -> (version: RowVersion, address: UnsafeRawPointer)? {
        if let place = places[row] { return rows.row(place) }
        return newest.row(row)
    }

    /// Moves in a row that does not exist; the memory that it came from is uninitialized afterwards.
    mutating func insert(_ row: RowNumber, version: RowVersion, moving value: UnsafeMutableRawPointer) {
        if isWhole {
            newest.set(row, version: version, moving: value)
        } else {
            rows.set(place(of: row), version: version, moving: value)
        }
    }

    /// Has a closure change a row and its version in place. Returns false, and calls it not, if there is no such row.
    mutating func change(
        _ row: RowNumber, _ body: (UnsafeMutableRawPointer, inout UInt64) throws -> Void
    ) rethrows -> Bool {
        var isFound = false
        func change(_: RowNumber, _ address: UnsafeMutableRawPointer, _ version: inout UInt64) throws -> Bool {
            isFound = true
            try body(address, &version)
            return false
        }
        if isWhole {
            try newest.change(CollectionOfOne(row), change)
        } else {
            try rows.change(CollectionOfOne(ownPlace(of: row)), change)
        }
        return isFound
    }

    /// Returns false if there is no such row.
    mutating func remove(_ row: RowNumber) -> Bool {
        isWhole ? newest.remove(row) : rows.remove(ownPlace(of: row))
    }

    /// All rows.
    var table: RowTable {
        var table = newest
        for (row, place) in places.sorted(by: { $0.key < $1.key }) {
            if let (version, address) = rows.row(place) {
                table.set(row, version: version, copying: address)
            } else {
                table.remove(row)
            }
        }
        return table
    }

    private mutating func place(of row: RowNumber) -> UInt64 {
        if let place = places[row] { return place }
        let place = UInt64(places.count)
        places[row] = place
        return place
    }

    /// The same, and the row is there if it exists.
    private mutating func ownPlace(of row: RowNumber) -> UInt64 {
        let (count, place) = (places.count, place(of: row))
        if places.count > count, let (version, address) = newest.row(row) {
            rows.set(place, version: version, copying: address)
        }
        return place
    }
}

extension RowTable {
    /// Valid as `address(of:)` says.
    func row(_ number: RowNumber) -> (version: RowVersion, address: UnsafeRawPointer)? {
        // One descent for both.
        guard let run = run(from: number), run.firstRow >> 5 == number >> 5 else { return nil }
        let place = Int(number & 31)
        guard run.occupancy & (1 << UInt32(place)) != 0 else { return nil }
        return (RowVersion(run.versions[place]), run.values + place * layout.stride)
    }
}
