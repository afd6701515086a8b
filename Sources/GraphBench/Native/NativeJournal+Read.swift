import Foundation

extension NativeJournal {
    /// Reads a journal of teams and people back into objects.
    static func read(_ path: String) throws -> NativePeer {
        let peer = NativePeer()
        var teams: [String] = []
        var id = 0
        try forEachRecord(
            of: path, team: { teams.append($0) },
            person: { row in
                if id == 0 { peer.insertTeams(teams) }
                peer.insert(row, id: id)
                id += 1
            })
        return peer
    }

    /// Gives people in `peer` the balances that a journal of changed people has for them.
    static func replay(_ path: String, onto peer: NativePeer) throws {
        try forEachRecord(
            of: path, team: { _ in }, person: { peer.peopleByEmail[$0.email]?.balance = $0.balance })
    }

    @inline(__always)
    private static func forEachRecord(
        of path: String, team: (String) -> Void, person: (PersonRow) -> Void
    ) throws {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        var offset = 0

        func number() -> UInt64 {
            defer { offset += 8 }
            return bytes.withUnsafeBytes {
                UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
        }
        func text() -> String {
            let start = offset + 1
            offset = start + Int(bytes[offset])
            return String(decoding: bytes[start..<offset], as: UTF8.self)
        }

        while offset < bytes.count {
            offset += 1
            if bytes[offset - 1] == 1 {
                team(text())
                continue
            }
            person(
                PersonRow(
                    name: text(), email: text(), age: Int(number()), balance: Double(bitPattern: number()),
                    joined: Date(timeIntervalSinceReferenceDate: Double(bitPattern: number())), team: Int(number())))
        }
    }
}
