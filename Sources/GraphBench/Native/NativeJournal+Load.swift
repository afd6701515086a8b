extension NativeJournal {
    /// Inserts all rows, durable after each batch.
    func load(_ data: PeopleData, into peer: NativePeer) throws {
        for name in data.teamNames { append(team: name) }
        peer.insertTeams(data.teamNames)
        for batch in data.batches {
            for index in batch {
                append(data.people[index])
                peer.insert(data.people[index], id: index)
            }
            try commit()
        }
    }
}
