/// One connection that many tasks share: SQLite has one writer at a time, and waiting in line for one connection costs
/// less than many connections that find the file busy.
actor SQLiteWriter {
    private let peer: SQLitePeer

    /// Makes a file with all rows of `data`.
    init(path: String, loaded data: PeopleData) throws {
        peer = try SQLitePeer(at: .file(path), loaded: data)
    }

    func commitBalance(_ balance: Double, id: Int) throws {
        try peer.setBalance(balance, id: id)
    }

    func balances(of ids: [Int]) throws -> UInt64 {
        try peer.balances(of: ids)
    }
}
