import Testing

@testable import Graph

struct CommitQueueTests {
    @Test func `a group is as long as its limit allows, and at least one save`() async {
        var queue = CommitQueue()
        var tickets: [CommitTicket] = []
        // 48 bytes each in the file, and those that only wait none.
        for count in [8, 8, nil, 8, 1_000, 8] as [Int?] {
            var entry = CommitQueue.Entry()
            entry.record = count.map { [UInt8](repeating: 0, count: $0) }
            if let ticket = queue.append(entry) { tickets.append(ticket) }
        }
        var sizes: [[Int?]] = []
        for _ in 0..<4 {
            sizes.append(queue.takeGroup(limitBytes: 144).map { $0.record?.count })
            _ = queue.passOn()
        }
        #expect(sizes == [[8, 8, nil, 8], [1_000], [8], []])
        #expect(!queue.isBusy)
        // Whoever is first in what is left leads it.
        for place in [3, 4] {
            guard case .lead = await tickets[place].turn() else {
                Issue.record("\(place) does not lead")
                return
            }
        }
    }
}
