/// A place in a store's history: the store, one of its commits, and a fingerprint of all commits up to that one.
///
/// Keep a token, and later ask for what happened since. The number alone would not do: after a backup was restored, or after a power
/// cut that took commits which did not wait for the disk, a commit of the same number may be another one. Its fingerprint is
/// another one then, and Graph throws `.historyDiverged`.
///
/// A token stays good when the file is compacted, copied, or opened again. As text it takes some sixty characters.
public struct HistoryToken: Sendable, Hashable {
    /// The newest commit that the token covers.
    public internal(set) var commit = CommitNumber.none
    var store = StoreID(high: 0, low: 0)
    /// The XXH64 of the record of the commit, with the fingerprint before it as the seed; 0 before the first one. A commit of a store
    /// in memory, whose history cannot become another one, counts by its number.
    var fingerprint: UInt64 = 0

    /// Takes in the record of the commit, or what else makes this state differ from others of its number.
    mutating func add(_ record: UnsafeRawBufferPointer) {
        fingerprint = XXH64.hash(record, seed: fingerprint)
    }

    /// The same place in a store, for a token that does not say of which one it is.
    func of(_ store: StoreID) -> HistoryToken {
        HistoryToken(commit: commit, store: store, fingerprint: fingerprint)
    }

    /// Takes in a number.
    mutating func add(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { add($0) }
    }
}

extension HistoryToken: Comparable {
    /// Tokens of earlier commits come first. Of two tokens of one history the lesser one covers less; the order of others has no
    /// meaning.
    public static func < (lhs: HistoryToken, rhs: HistoryToken) -> Bool {
        func key(_ token: HistoryToken) -> (UInt64, UInt64, UInt64, UInt64) {
            (token.commit.number, token.fingerprint, token.store.high, token.store.low)
        }
        return key(lhs) < key(rhs)
    }
}

extension HistoryToken: LosslessStringConvertible {
    /// Store, commit and fingerprint: `f81d4fae-7dec-41d0-a765-00a0c91e6bf6/12/00c4f1e09a7d3b52`.
    ///
    /// Complexity: O(1).
    public var description: String { "\(store)/\(commit)/\(StoreID.hexadecimal(fingerprint))" }

    /// The token with this text; nil if the text is no token.
    ///
    /// Complexity: O(length of the text).
    public init?(_ description: String) {
        let parts = description.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let store = StoreID(String(parts[0])), let commit = UInt64(parts[1]),
            let fingerprint = UInt64(parts[2], radix: 16)
        else { return nil }
        self.init(commit: CommitNumber(commit), store: store, fingerprint: fingerprint)
        // One text for each token.
        guard self.description == description else { return nil }
    }
}

extension HistoryToken: Codable {
    /// Reads the text of ``description``.
    public init(from decoder: any Decoder) throws {
        try self.init(textOf: decoder, as: "history token")
    }

    /// Writes the text of ``description``.
    public func encode(to encoder: any Encoder) throws {
        try encodeText(to: encoder)
    }
}
