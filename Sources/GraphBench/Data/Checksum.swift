import Foundation

/// The answers of workloads: 64-bit sums, the same for every contender that did the same work.
///
/// Sums do not depend on the order of rows; where order matters ``ranked(_:_:)`` makes them.
enum Checksum {
    @inline(__always)
    static func person(name: String, email: String, age: Int, balance: Double, joined: Date) -> UInt64 {
        person(
            nameLength: name.utf8.count, nameEnd: name.utf8.last ?? 0, emailLength: email.utf8.count, age: age,
            balance: balance, joinedSeconds: joined.timeIntervalSinceReferenceDate)
    }

    /// The same from raw columns, for a reader that makes no strings.
    @inline(__always)
    static func person(
        nameLength: Int, nameEnd: UInt8, emailLength: Int, age: Int, balance: Double, joinedSeconds: Double
    ) -> UInt64 {
        let texts = UInt64(nameLength) &* 131 &+ UInt64(nameEnd) &* 8_191 &+ UInt64(emailLength) &* 524_287
        return texts &+ UInt64(bitPattern: Int64(age)) &* 31 &+ balance.bitPattern &+ joinedSeconds.bitPattern
    }

    @inline(__always)
    static func text(_ text: String) -> UInt64 {
        UInt64(text.utf8.count) &* 131 &+ UInt64(text.utf8.last ?? 0)
    }

    /// A sum that tells one order of `rows` from another.
    static func ranked(_ answer: UInt64, _ row: UInt64) -> UInt64 {
        answer &* 0x0000_0100_0000_01B3 &+ row
    }

    /// The number of some people and the sum of their ages.
    static func people(count: Int, ages: Int) -> UInt64 {
        UInt64(count) &* 1_000_003 &+ UInt64(ages)
    }

    /// Every byte of one person with the team's name, mixed well enough for sums over people of whom two have changed
    /// places in anything to differ. Takes too long to be timed.
    static func fingerprint(
        name: some Sequence<UInt8>, email: some Sequence<UInt8>, age: Int, balance: Double, joinedSeconds: Double,
        team: String
    ) -> UInt64 {
        var sum = ranked(bytes(name), bytes(email))
        sum = ranked(ranked(sum, UInt64(bitPattern: Int64(age))), balance.bitPattern)
        return mixed(ranked(ranked(sum, joinedSeconds.bitPattern), bytes(team.utf8)))
    }

    /// Everything in a store: the sum of its people's fingerprints and its teams.
    static func store(people: UInt64, teamNames: some Sequence<String>) -> UInt64 {
        ranked(people, teamNames.reduce(0) { $0 &+ mixed(bytes($1.utf8)) })
    }

    /// Rows in an order that all contenders know: whose is whose counts.
    static func rowByRow(_ checksums: some Sequence<UInt64>) -> UInt64 {
        checksums.reduce(0) { ranked($0, mixed($1)) }
    }

    static func bytes(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ranked($0, UInt64($1)) }
    }

    static func mixed(_ number: UInt64) -> UInt64 {
        var mixer = SplitMix64(seed: number)
        return mixer.next()
    }

    /// One link, mixed well enough for sums over different sets of links to differ.
    static func link(person: Int, tag: Int) -> UInt64 {
        mixed(UInt64(person) << 24 | UInt64(tag))
    }

    /// What is left in a store of people with tags: the people, and the sums of the links as either side lists them.
    static func tagged(people: UInt64, byPerson: UInt64, byTag: UInt64) -> UInt64 {
        ranked(ranked(people, byPerson), byTag)
    }
}
