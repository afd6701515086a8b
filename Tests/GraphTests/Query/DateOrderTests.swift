import Foundation
import Testing

@testable import Graph

@Entity private struct Event {
    @Indexed var start: Date
    var plainStart: Date
    @Indexed var end: Date?
    var plainEnd: Date?
    @Indexed var rank: Int??
    var plainRank: Int??
}

/// Dates that are no number, and nil in nil: the answer is the same with an index and without.
struct DateOrderTests {
    private static let seconds = [-Double.nan, -.infinity, -1, -0.0, 0, 1, .infinity, .nan]
    private static let dates = seconds.map { Date(timeIntervalSinceReferenceDate: $0) }

    private static func store() async throws -> Coordinator {
        let store = try await Coordinator(for: Event.self)
        try await store.transaction { context in
            for round in 0..<8 {
                for (place, date) in dates.enumerated() {
                    let end = (round + place) % 3 == 0 ? nil : dates[(place + round) % 8]
                    let rank: Int?? = place < 3 ? .some(nil) : place
                    context.insert(
                        Event(start: date, plainStart: date, end: end, plainEnd: end, rank: rank, plainRank: rank))
                }
            }
        }
        return store
    }

    /// The comparison of each operator.
    private static func holds(_ kind: Int, _ lhs: Double, _ rhs: Double) -> Bool {
        [lhs < rhs, lhs <= rhs, lhs > rhs, lhs >= rhs][kind]
    }

    private static func predicates(
        _ date: Date
    ) -> [(
        indexed: Predicate<Event>, plain: Predicate<Event>, optional: Predicate<Event>, plainOptional: Predicate<Event>
    )] {
        let far = Date.distantPast
        return [
            (
                #Predicate { $0.start < date }, #Predicate { $0.plainStart < date },
                #Predicate { if let end = $0.end { end < date } else { false } },
                #Predicate { if let end = $0.plainEnd { end < date } else { false } }
            ),
            (
                #Predicate { $0.start <= date }, #Predicate { $0.plainStart <= date },
                #Predicate { if let end = $0.end { end <= date } else { false } },
                #Predicate { if let end = $0.plainEnd { end <= date } else { false } }
            ),
            (
                #Predicate { date < $0.start }, #Predicate { $0.plainStart > date },
                #Predicate { if let end = $0.end { end > date } else { false } },
                #Predicate { ($0.plainEnd ?? far) > date && $0.plainEnd != nil }
            ),
            (
                #Predicate { date <= $0.start }, #Predicate { $0.plainStart >= date },
                #Predicate { if let end = $0.end { end >= date } else { false } },
                #Predicate { ($0.plainEnd ?? far) >= date && $0.plainEnd != nil }
            ),
        ]
    }

    @Test func `a date that is no number is in no range, whether or not an index knows it`() async throws {
        let store = try await Self.store()
        let snapshot = store.snapshot
        let all = try snapshot.fetchIDs(Event.self)
        func ids(_ isMet: (Event) -> Bool) -> [Event.ID] { all.filter { snapshot.value(for: $0).map(isMet) ?? false } }
        for (bound, seconds) in zip(Self.dates, Self.seconds) {
            for (kind, predicates) in Self.predicates(bound).enumerated() {
                let starts = ids { Self.holds(kind, $0.start.timeIntervalSinceReferenceDate, seconds) }
                #expect(try snapshot.fetchIDs(Event.self, where: predicates.indexed) == starts)
                #expect(try snapshot.fetchIDs(Event.self, where: predicates.plain) == starts)
                #expect(try snapshot.fetchCount(Event.self, where: predicates.indexed) == starts.count)
                let ends = ids { event in
                    event.end.map { Self.holds(kind, $0.timeIntervalSinceReferenceDate, seconds) } ?? false
                }
                #expect(try snapshot.fetchIDs(Event.self, where: predicates.optional) == ends)
                #expect(try snapshot.fetchIDs(Event.self, where: predicates.plainOptional) == ends)
            }
            // Swift makes no range up to nothing.
            if seconds.isNaN { continue }
            let upTo = ids { $0.start.timeIntervalSinceReferenceDate <= seconds }
            #expect(snapshot.fetchIDs(\Event.start, in: ...bound) == upTo)
            #expect(snapshot.fetchIDs(\Event.plainStart, in: ...bound) == upTo)
            #expect(snapshot.fetchCount(\Event.start, in: ...bound) == upTo.count)
        }
        let (first, last) = (Self.dates[2], Self.dates[5])
        let inside = ids { $0.start <= last && $0.start >= first && !$0.start.timeIntervalSinceReferenceDate.isNaN }
        #expect(try snapshot.fetchIDs(Event.self, where: #Predicate { (first...last).contains($0.start) }) == inside)
        let ahead = ids { event in
            guard let end = event.end?.timeIntervalSinceReferenceDate else { return false }
            return event.start.timeIntervalSinceReferenceDate <= 0 && 0 <= end
        }
        let day = Self.dates[4]
        let around = #Predicate<Event> { event in
            if let end = event.end { event.start <= end && (event.start...end).contains(day) } else { false }
        }
        #expect(try snapshot.fetchIDs(Event.self, where: around) == ahead)
        // A range of dates may end with one that is no number.
        let odd = Self.dates[2]...Self.dates[7]
        #expect(
            snapshot.fetchIDs(\Event.start, in: odd).isEmpty && snapshot.fetchIDs(\Event.plainStart, in: odd).isEmpty)
        #expect(snapshot.fetchCount(\Event.end, in: odd) == 0 && snapshot.fetchCount(\Event.plainEnd, in: odd) == 0)
    }

    @Test func `a live result of dates is what a fetch returns`() async throws {
        let context = Context(try await Self.store())
        let bound = Self.dates[4]
        let descriptor = FetchDescriptor<Event>(predicate: #Predicate { $0.start <= bound })
        try await context.perform { context in
            let results = try context.results(descriptor)
            for date in Self.dates {
                context.insert(
                    Event(start: date, plainStart: date, end: date, plainEnd: date, rank: nil, plainRank: nil))
                let fetched = try context.fetch(descriptor).map(\.id)
                #expect(results.objects.map(\.id) == fetched)
            }
        }
    }

    @Test func `nil in nil is nil to ranges and extremes`() async throws {
        let store = try await Self.store()
        for change in 0..<2 {
            let snapshot = store.snapshot
            #expect(snapshot.fetchIDs(\Event.rank, in: ..<6) == snapshot.fetchIDs(\Event.plainRank, in: ..<6))
            #expect(
                snapshot.fetchCount(\Event.rank, in: ..<6) == 24 && snapshot.fetchIDs(\Event.rank, in: ..<6).count == 24
            )
            #expect(try snapshot.minimum(\Event.rank) == 3 && snapshot.minimum(\Event.plainRank) == 3)
            #expect(try snapshot.maximum(\Event.rank) == 7 && snapshot.maximum(\Event.plainRank) == 7)
            guard change == 0, let day = Self.dates.last else { break }
            try await store.transaction { context in
                context.insert(Event(start: day, plainStart: day, end: nil, plainEnd: nil, rank: nil, plainRank: nil))
            }
        }
    }
}
