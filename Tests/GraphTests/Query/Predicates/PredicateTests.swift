import Foundation
import Testing

@testable import Graph

/// Each operator that `#Predicate` writes, as programs write it, and the shapes that other engines stop at.
struct PredicateTests {
    let coordinator: Coordinator
    let snapshot: Snapshot

    init() async throws {
        coordinator = try await Coordinator(for: Piece.self, Crate.self)
        try await coordinator.transaction { context in
            let crates = (0..<3).map { context.insert(Crate(code: "C\($0)", level: $0, remark: $0 == 1 ? "one" : nil)) }
            var random = SeededGenerator(seed: 5)
            for number in 0..<40 {
                let piece = context.insert(Piece.random(&random))
                (piece.number, piece.count) = (number, number % 7 + 1)
                if number % 4 != 3 { piece.crate = crates[number % 4] }
            }
            crates[0].owner = try context.fetch(Piece.self).first { $0.number == 2 }
            crates[0].above.insert(crates[1])
        }
        snapshot = coordinator.snapshot
    }

    func check(
        _ predicate: Predicate<Piece>, _ isMet: (Piece) throws -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = try snapshot.fetchValues(Piece.self, where: predicate).map(\.number)
        let expected = try snapshot.fetchValues(Piece.self, where: isMet).map(\.number)
        #expect(found == expected, sourceLocation: sourceLocation)
        #expect(!expected.isEmpty && expected.count < 40, "the example says nothing", sourceLocation: sourceLocation)
    }

    func crate(_ piece: Piece) -> Crate? { piece.crate.id.flatMap { snapshot.value(for: $0) } }

    @Test func `comparisons and logic`() throws {
        let (three, flag) = (3, true)
        try check(#Predicate { $0.number == 7 }) { $0.number == 7 }
        try check(#Predicate { 7 != $0.number }) { $0.number != 7 }
        try check(#Predicate { $0.number < 7 }) { $0.number < 7 }
        try check(#Predicate { $0.number <= three }) { $0.number <= 3 }
        try check(#Predicate { $0.count > three }) { $0.count > 3 }
        try check(#Predicate { three >= $0.count }) { $0.count <= 3 }
        try check(#Predicate { $0.number > 10 && $0.count == 2 }) { $0.number > 10 && $0.count == 2 }
        try check(#Predicate { $0.number == 10 || $0.count == 2 }) { $0.number == 10 || $0.count == 2 }
        try check(#Predicate { !($0.number == 10) }) { $0.number != 10 }
        try check(#Predicate { $0.isNew }) { $0.isNew }
        try check(#Predicate { $0.isNew == flag }) { $0.isNew }
        try check(#Predicate { !$0.isNew }) { !$0.isNew }
        try check(#Predicate { $0.number > 10 ? $0.isNew : $0.count == 1 }) {
            $0.number > 10 ? $0.isNew : $0.count == 1
        }
        try check(#Predicate { $0.doubled == 6 }) { $0.doubled == 6 }
    }

    @Test func `arithmetic`() throws {
        try check(#Predicate { $0.number + $0.count > 20 }) { $0.number + $0.count > 20 }
        try check(#Predicate { $0.number - $0.count < 0 }) { $0.number - $0.count < 0 }
        try check(#Predicate { $0.number * 2 == 8 }) { $0.number * 2 == 8 }
        try check(#Predicate { -$0.number < -30 }) { -$0.number < -30 }
        try check(#Predicate { $0.number / $0.count == 4 }) { $0.number / $0.count == 4 }
        try check(#Predicate { $0.number % 5 == 2 }) { $0.number % 5 == 2 }
        try check(#Predicate { $0.weight / 2 > 0.3 }) { $0.weight / 2 > 0.3 }
    }

    @Test func `optionals, enumerations and parts of values`() throws {
        let (grade, small): (Grade, Int8?) = (.middle, 1)
        try check(#Predicate { $0.grade == grade }) { $0.grade == .middle }
        try check(#Predicate { $0.grade != grade }) { $0.grade != .middle }
        try check(#Predicate { $0.note == nil }) { $0.note == nil }
        try check(#Predicate { $0.note != nil }) { $0.note != nil }
        try check(#Predicate { $0.small == small }) { $0.small == 1 }
        try check(#Predicate { ($0.note ?? "").isEmpty }) { ($0.note ?? "").isEmpty }
        try check(#Predicate { ($0.note?.count ?? 0) > 1 }) { ($0.note?.count ?? 0) > 1 }
        try check(#Predicate { $0.note.flatMap { $0.count } == 1 }) { $0.note.flatMap { $0.count } == 1 }
        try check(#Predicate { if let note = $0.note { return note.count > 1 } else { return false } }) {
            ($0.note?.count ?? 0) > 1
        }
        try check(#Predicate { $0.note != nil && $0.note!.count > 1 }) { ($0.note?.count ?? 0) > 1 }
        try check(#Predicate { $0.size.width == 2 && $0.size.label != "a" }) {
            $0.size.width == 2 && $0.size.label != "a"
        }
    }

    @Test func `texts, dates and collections`() throws {
        let (names, numbers): ([String], Set<Int>) = (["a", "ab"], [1, 5, 99])
        let date = Date(timeIntervalSinceReferenceDate: 0)
        try check(#Predicate { $0.name.starts(with: "a") }) { $0.name.starts(with: "a") }
        try check(#Predicate { $0.name.contains("b") }) { $0.name.contains("b") }
        try check(#Predicate { $0.name < "b" }) { $0.name < "b" }
        try check(#Predicate { $0.made > date }) { $0.made > date }
        try check(#Predicate { names.contains($0.name) }) { names.contains($0.name) }
        try check(#Predicate { numbers.contains($0.number) }) { numbers.contains($0.number) }
        try check(#Predicate { (3..<9).contains($0.number) }) { (3..<9).contains($0.number) }
        try check(#Predicate { (3...9).contains($0.number) }) { (3...9).contains($0.number) }
        try check(#Predicate { $0.tags.contains(2) }) { $0.tags.contains(2) }
        try check(#Predicate { $0.tags.contains { $0 > 2 } }) { $0.tags.contains { $0 > 2 } }
        try check(#Predicate { $0.tags.allSatisfy { $0 > 0 } }) { $0.tags.allSatisfy { $0 > 0 } }
        try check(#Predicate { $0.tags.filter { $0 > 0 }.count == 1 }) { $0.tags.filter { $0 > 0 }.count == 1 }
        try check(#Predicate { !$0.tags.isEmpty && $0.tags[0] > 0 }) { !$0.tags.isEmpty && $0.tags[0] > 0 }
        try check(#Predicate { $0.tags.max() == 3 }) { $0.tags.max() == 3 }
        try check(#Predicate { $0.tags.min() == 0 }) { $0.tags.min() == 0 }
        try check(#Predicate { $0.points["a"] == 1 }) { $0.points["a"] == 1 }
        try check(#Predicate { $0.points["b", default: 7] == 7 }) { $0.points["b", default: 7] == 7 }
        let same = ComparisonResult.orderedSame
        try check(#Predicate { $0.name.localizedStandardContains("E") }) { $0.name.localizedStandardContains("E") }
        try check(#Predicate { $0.name.caseInsensitiveCompare("A") == same }) {
            $0.name.caseInsensitiveCompare("A") == same
        }
        try check(#Predicate { $0.tags.starts(with: [1]) || $0.number == 1 }) {
            $0.tags.starts(with: [1]) || $0.number == 1
        }
    }

    @Test(arguments: [
        ("Stra\u{DF}e", "STRASSE"), ("\u{C9}t\u{E9}", "ete"), ("e\u{301}", "\u{C9}"), ("\u{FB01}n", "FI"),
        ("\u{3A3}", "\u{3C2}"), ("abc", ""), ("", "a"),
        ("Zebra", "apple"), ("e\u{301}", "\u{E9}x"), ("\u{E9}x", "e\u{301}"), ("a", "B"), ("\u{5D0}\u{5B7}", "\u{5D0}"),
        ("1a", "1A"),
    ])
    func `texts compare without case and accents as Foundation compares them`(text: String, other: String) throws {
        struct Note { var text: String }
        let note = Note(text: text)
        let contains = #Predicate<Note> { $0.text.localizedStandardContains(other) }
        #expect(try contains.evaluate(note) == text.localizedStandardContains(other))
        let (before, after) = (ComparisonResult.orderedAscending, ComparisonResult.orderedDescending)
        #expect(
            try #Predicate<Note> { $0.text.caseInsensitiveCompare(other) == before }.evaluate(note)
                == (text.caseInsensitiveCompare(other) == before))
        #expect(
            try #Predicate<Note> { $0.text.caseInsensitiveCompare(other) == after }.evaluate(note)
                == (text.caseInsensitiveCompare(other) == after))
    }

    @Test func `casts, slices and parts of collections`() throws {
        let (three, ten): (Int?, Int8) = (3, 10)
        try check(#Predicate { ($0.number as Any) as? Int == three }) { $0.number == 3 }
        try check(#Predicate { ($0.small as Any) as? Int == nil && $0.number > 9 }) { $0.number > 9 }
        try check(#Predicate { !(($0.small as Any) is Int8) }) { $0.small == nil }
        try check(#Predicate { $0.small != nil && ten > ($0.small as Any) as! Int8 }) { ($0.small ?? 10) < 10 }
        try check(#Predicate { -$0.weight > 0.5 }) { -$0.weight > 0.5 }
        try check(#Predicate { $0.tags.count > 2 && $0.tags[1..<3].contains(2) }) {
            $0.tags.count > 2 && $0.tags[1..<3].contains(2)
        }
        try check(#Predicate { $0.tags.count > 1 && $0.tags[0..<2].count == $0.count }) {
            $0.tags.count > 1 && $0.count == 2
        }
        try check(#Predicate { $0.tags.filter { $0 > 0 }.contains(2) }) { $0.tags.contains(2) }
        try check(#Predicate { $0.tags.filter { $0 > 0 }.isEmpty }) { !$0.tags.contains { $0 > 0 } }
        try check(#Predicate { ($0.tags.first ?? 0) > 1 }) { ($0.tags.first ?? 0) > 1 }
        try check(#Predicate { $0.tags.last == 2 }) { $0.tags.last == 2 }
        try check(#Predicate { $0.words.first == "a" }) { $0.words.first == "a" }
        try check(#Predicate { $0.points["b", default: $0.number] == 3 }) { ($0.points["b"] ?? $0.number) == 3 }
        try check(#Predicate { $0.points.isEmpty }) { $0.points.isEmpty }
    }

    @Test func `sets`() throws {
        let wanted: Set<Int> = [1, 2]
        try check(#Predicate { $0.marks.contains(2) }) { $0.marks.contains(2) }
        try check(#Predicate { $0.marks.contains($0.count) }) { $0.marks.contains($0.count) }
        try check(#Predicate { $0.marks.contains { $0 > 2 } }) { $0.marks.contains { $0 > 2 } }
        try check(#Predicate { $0.marks.allSatisfy { wanted.contains($0) } }) { $0.marks.isSubset(of: wanted) }
        try check(#Predicate { $0.marks.count == 2 }) { $0.marks.count == 2 }
        try check(#Predicate { $0.marks.isEmpty }) { $0.marks.isEmpty }
        try check(#Predicate { $0.marks.max() == 4 }) { $0.marks.max() == 4 }
        try check(#Predicate { !$0.marks.filter { $0 < 0 }.isEmpty }) { $0.marks.contains { $0 < 0 } }
    }

    @Test func `regular expressions`() throws {
        let (ends, twice, any) = (/b$/, try Regex("[ab]{2}"), /\w+/.ignoresCase())
        try check(#Predicate { $0.name.contains(ends) }) { $0.name.hasSuffix("b") }
        try check(#Predicate { !$0.name.contains(twice) }) { try twice.firstMatch(in: $0.name) == nil }
        try check(#Predicate { $0.name.contains(any) }) { try any.firstMatch(in: $0.name) != nil }
        try check(#Predicate { if let note = $0.note { note.contains(ends) } else { false } }) {
            $0.note?.hasSuffix("b") == true
        }
    }

    @Test func `UUIDs are compared, and looked up in their indexes`() throws {
        let token = Piece.tokens[2]
        try check(#Predicate { $0.token == token }) { $0.token == token }
        try check(#Predicate { $0.token != token }) { $0.token != token }
        let codes = try snapshot.fetchValues(Piece.self).compactMap(\.code)
        let (code, list) = (codes[1], Array(codes[2..<5]) + [UUID()])
        let optionals: [UUID?] = list
        let examples: [(Predicate<Piece>, Int)] = [
            (#Predicate { $0.code == code }, 1),
            (#Predicate { optionals.contains($0.code) }, 3),
            (#Predicate { if let code = $0.code { list.contains(code) } else { false } }, 3),
        ]
        for (predicate, count) in examples {
            try check(predicate) { count == 1 ? $0.code == code : optionals.contains($0.code) }
            let text = "\(count) rows by the index of Piece.code; expected \(count), looked at \(count), found \(count)"
            #expect(try snapshot.explain(FetchDescriptor(predicate: predicate)).description == text)
        }
    }

    @Test func `a descriptor is printed without its predicate`() {
        var fetch = FetchDescriptor<Crate>(
            predicate: #Predicate { $0.pieces.contains { $0.number > 3 } },
            sortBy: [.descending(\.code), .ascending(\.owner, \.name)])
        fetch.fetchLimit = 3
        fetch.includesPendingChanges = false
        let text = "Crate by a predicate, sorted by code descending, owner.name, limit 3, without pending changes"
        #expect("\(fetch)" == text)
        var dumped = ""
        dump(fetch, to: &dumped)
        #expect(dumped == "- \(text)\n")
    }

    @Test func `references and members`() throws {
        let id = try #require(snapshot.fetchIDs(\Crate.code, equals: "C1").first)
        try check(#Predicate { $0.crate == nil }) { $0.crate.id == nil }
        try check(#Predicate { $0.crate != nil }) { $0.crate.id != nil }
        try check(#Predicate { $0.crate.id == id }) { $0.crate.id == id }
        try check(#Predicate { $0.crate == id }) { $0.crate.id == id }
        try check(#Predicate { $0.crate != id }) { $0.crate.id != id }
        try check(#Predicate { $0.crate.code == "C1" }) { crate($0)?.code == "C1" }
        try check(#Predicate { $0.crate.level != 1 }) { crate($0)?.level != 1 }
        try check(#Predicate { $0.crate.remark == nil }) { crate($0)?.remark == nil }
        try check(#Predicate { ($0.crate.level ?? 9) > 1 }) { (crate($0)?.level ?? 9) > 1 }
        try check(#Predicate { $0.crate.owner.number == 2 }) { crate($0)?.code == "C0" }
        try check(#Predicate { $0.crate.owner == nil }) { crate($0)?.code != "C0" }
        try check(#Predicate { $0.crate.owner.crate.code == "C2" }) { crate($0)?.code == "C0" }
        try check(#Predicate { $0.crate.pieces.isEmpty }) { $0.crate.id == nil }
        try check(#Predicate { $0.crate.pieces.count == 10 && $0.number > 5 }) { $0.crate.id != nil && $0.number > 5 }
        try check(#Predicate { $0.crate.pieces.contains { $0.number == 5 } }) { $0.crate.id == id }
        try check(#Predicate { $0.crate.pieces.allSatisfy { $0.number != 5 } }) { $0.crate.id != id }
        try check(#Predicate { $0.crate.pieces.filter { $0.number < 5 }.count == 1 }) {
            crate($0)?.code == "C1" || crate($0)?.code == "C2"
        }
        try check(#Predicate { $0.crate.above.contains { $0.code == "C1" } }) { crate($0)?.code == "C0" }
        try check(#Predicate { piece in piece.crate.pieces.contains { $0.number == piece.number + 4 } }) {
            $0.crate.id != nil && $0.number < 36
        }
    }

    @Test func `a reference that leads nowhere has no members, however many others are asked about`() async throws {
        let coordinator = try await Coordinator(for: Piece.self, Crate.self)
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: 9)
            let crates = (0..<20).map { context.insert(Crate(code: "", level: $0)) }
            for number in 0..<200 {
                let piece = context.insert(Piece.random(&random))
                piece.number = number
                // Those without a crate are asked about last, when all members have been joined.
                if number < 100 { piece.crate = crates[number % 20] }
            }
        }
        let snapshot = coordinator.snapshot
        let any = #Predicate<Piece> { $0.crate.pieces.contains { $0.number >= 0 } }
        #expect(try snapshot.fetchCount(Piece.self, where: any) == 100)
        let all = #Predicate<Piece> { $0.crate.pieces.allSatisfy { $0.number < 0 } }
        #expect(try snapshot.fetchCount(Piece.self, where: all) == 100)
    }

    @Test func `members of copies are refused`() throws {
        let code = "C1"
        let predicate = #Predicate<Piece> { $0.crate.above.filter { $0.code == code }.contains { $0.pieces.isEmpty } }
        #expect(throws: GraphError.self) { try snapshot.fetchCount(Piece.self, where: predicate) }
    }

    @Test func `thousands of predicates are put together`() throws {
        let numbers = (0..<5_000).map { number in #Predicate<Piece> { $0.number == number } }
        #expect(try snapshot.fetchCount(Piece.self, where: .any(numbers)) == 40)
        #expect(try snapshot.fetchCount(Piece.self, where: .all(numbers.map { .not($0) })) == 0)
    }

    @Test func `predicates that are put together one after the other do not lie inside one another`() throws {
        var (any, all): (Predicate<Piece>, Predicate<Piece>) = (.any(), .all())
        for number in 0..<3_000 {
            let next = #Predicate<Piece> { $0.number == number }
            (any, all) = (.any(any, next), .all(.not(next), all))
        }
        #expect(try snapshot.fetchCount(Piece.self, where: any) == 40)
        #expect(try snapshot.fetchCount(Piece.self, where: all) == 0)
    }

    @Test func `a predicate that is put together too deeply is an error`() throws {
        var nested = #Predicate<Piece> { $0.number == 3 }
        for _ in 0..<99 { nested = .any(.not(.all(.not(nested), .all())), .any()) }
        #expect(throws: GraphError.self) { try snapshot.fetchCount(Piece.self, where: nested) }
        var deep = #Predicate<Piece> { $0.number == 3 }
        for _ in 0..<2_000 { deep = .not(deep) }
        #expect(throws: GraphError.self) { try snapshot.fetchCount(Piece.self, where: deep) }
        var shallow = #Predicate<Piece> { $0.number == 3 }
        for _ in 0..<100 { shallow = .not(.not(shallow)) }
        #expect(try snapshot.fetchCount(Piece.self, where: shallow) == 1)
    }

    @Test func `predicates are put together`() throws {
        let (one, other): (Predicate<Piece>, Predicate<Piece>) = (
            #Predicate { $0.number < 9 }, #Predicate { $0.count == 2 }
        )
        try check(.all(one, other)) { $0.number < 9 && $0.count == 2 }
        try check(.any(one, other)) { $0.number < 9 || $0.count == 2 }
        try check(.not(.any(one, other))) { !($0.number < 9 || $0.count == 2) }
        try check(.all(.not(one), .any(other))) { $0.number >= 9 && $0.count == 2 }
        #expect(try snapshot.fetchCount(Piece.self, where: .all([])) == 40)
        #expect(try snapshot.fetchCount(Piece.self, where: .any([])) == 0)
        let sample = try #require(snapshot.fetchValues(\Piece.number, equals: 1).first)
        #expect(try Predicate<Piece>.all(one, other).evaluate(sample) == (sample.count == 2))
    }

    @Test func `what has no result is an error that names object and operation`() throws {
        let (zero, most, least, seven) = (0, Int.max, Int.min, 7)
        let failing: [(Predicate<Piece>, String)] = [
            (#Predicate { 10 / ($0.number - seven) == 1 }, "10 / 0 is a division by zero"),
            (#Predicate { $0.number % zero == 1 }, "0 % 0 is a division by zero"),
            (#Predicate { $0.number + most > 0 }, "1 + 9223372036854775807 overflows Int"),
            (#Predicate { $0.number * most > 1 }, "2 * 9223372036854775807 overflows Int"),
            (#Predicate { $0.note!.count > 100 }, "nil is unwrapped with !"),
            (#Predicate { $0.tags[seven] == 1 }, "the index 7 is out of bounds"),
            (#Predicate { (seven...$0.number).contains(3) }, "the range's lower bound is above its upper one"),
            (#Predicate { ($0.small as Any) as! Int == 3 }, "which as! needs"),
            (#Predicate { ($0.number...most).count > $0.number && (zero...most).count > 1 }, "no Int is the count of"),
            (#Predicate { (least..<$0.number).count == 3 }, "no Int is the count of"),
        ]
        for (predicate, text) in failing {
            let error = #expect(throws: GraphError.self) { try snapshot.fetchValues(Piece.self, where: predicate) }
            let description = error?.description ?? ""
            #expect(description.contains(text) && description.contains("Piece/p"), "\(description)")
            // Nothing is evaluated behind a condition that decides.
            let guarded = Predicate<Piece>.all(#Predicate { $0.number > 1_000 }, predicate)
            #expect(try snapshot.fetchCount(Piece.self, where: guarded) == 0)
        }
        // An object before the one that fails is found.
        let predicate = #Predicate<Piece> { 10 / ($0.number - seven) != 1_000 }
        #expect(try snapshot.fetchValues(Piece.self, where: predicate, limit: 7).count == 7)
        #expect(throws: GraphError.self) { try snapshot.fetchValues(Piece.self, where: predicate, limit: 8) }
    }

    @Test func `the count of a range is that of Swift where there is one`() throws {
        let (least, most): (Int8, Int8) = (.min, .max)
        try check(#Predicate { ($0.number...999).count == 990 }) { $0.number == 10 }
        try check(#Predicate { ($0.number..<999).count == 989 }) { $0.number == 10 }
        try check(#Predicate { ($0.number..<999).isEmpty || $0.number > 10 }) { $0.number > 10 }
        try check(#Predicate { (least...most).count == $0.number + 256 }) { $0.number == 0 }
        try check(#Predicate { (least..<most).count == $0.number + 255 }) { $0.number == 0 }
    }

    @Entity fileprivate struct Price {
        var amount: Decimal
    }

    @Test func `products of decimals are what Foundation makes of them, where it does not stop the program`()
        async throws
    {
        func decimal(_ significand: Decimal, _ exponent: Int) -> Decimal {
            Decimal(sign: .plus, exponent: exponent, significand: significand)
        }
        let (third, tiny) = (Decimal(1) / 3, decimal(1, -128))
        let products: [(Decimal, Decimal, Decimal?)] = [
            (3, third, 3 * third), (-3, decimal(7, -127), decimal(-21, -127)), (tiny, 0, 0), (0, tiny, 0),
            (decimal(third, -40), decimal(third, -40), decimal(third, -40) * decimal(third, -40)),
            // Foundation stops the program at these.
            (decimal(2, -65), decimal(-5, -64), -tiny), (decimal(-2, -65), decimal(-5, -64), tiny),
            (decimal(third, -44), decimal(third, -44), decimal(third * third, -88)),
            (decimal(1, -65), decimal(1, -64), nil), (decimal(third, -60), decimal(third, -60), nil), (tiny, tiny, nil),
        ]
        for (amount, factor, product) in products {
            let store = try await Coordinator(for: Price.self)
            try await store.transaction { _ = $0.insert(Price(amount: amount)) }
            let wanted = product ?? 0
            let count = Result {
                try store.snapshot.fetchCount(Price.self, where: #Predicate { $0.amount * factor == wanted })
            }
            if product != nil {
                #expect(try count.get() == 1, "\(amount) * \(factor)")
            } else {
                let error = #expect(throws: GraphError.self) { try count.get() }
                #expect(error?.description.contains("has more decimal places than Decimal") == true)
            }
        }
    }

    /// A node of a program's own.
    private struct Foreign: StandardPredicateExpression {
        func evaluate(_ bindings: PredicateBindings) throws -> Bool { true }
    }

    @Test func `what cannot be evaluated is an error before the first row`() async throws {
        let empty = try await Coordinator(for: Piece.self, Crate.self).snapshot
        let predicate = Predicate<Piece> { piece in
            PredicateExpressions.build_Conjunction(
                lhs: PredicateExpressions.build_KeyPath(root: piece, keyPath: \.isNew), rhs: Foreign())
        }
        let error = #expect(throws: GraphError.self) { try empty.fetchValues(Piece.self, where: predicate) }
        #expect(error?.description.hasPrefix("the predicate cannot be evaluated: Foreign is not supported:") == true)
    }

    @Test func `members of a reference stop the program outside of predicates`() async {
        await #expect(processExitsWith: .failure) {
            let reference: ToOne<Crate> = nil
            _ = reference.code
        }
        await #expect(processExitsWith: .failure) {
            let members: ToMany<Piece> = []
            _ = members.count
        }
        let members: ToMany<Piece> = []
        #expect(throws: GraphError.self) { try members.contains { $0.isNew } }
    }
}
