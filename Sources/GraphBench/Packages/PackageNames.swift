import Foundation

/// Makes names of packages, no two of which are the same: some beginnings are common, as they are in real indexes.
struct PackageNames {
    private static let beginnings = [
        "lib", "lib", "lib", "python3-", "golang-", "node-", "r-cran-", "ruby-", "fonts-", "",
        "", "", "haskell-", "libghc-", "rust-", "php-", "gir1.2-", "kde-",
    ]
    private static let endings = ["", "", "", "", "-dev", "-doc", "-data", "-common", "-utils", "1", "2", "-bin"]
    private static let consonants = Array("bcdfghklmnprstvwxz")
    private static let vowels = Array("aeiou")

    private var taken: Set<String> = []

    mutating func next(_ random: inout SplitMix64) -> String {
        while true {
            let beginning = Self.beginnings[random.skewed(below: Self.beginnings.count)]
            let ending = Self.endings[Int.random(in: 0..<Self.endings.count, using: &random)]
            let name = beginning + Self.word(&random) + ending
            if taken.insert(name).inserted { return name }
        }
    }

    /// Two to four syllables.
    static func word(_ random: inout SplitMix64) -> String {
        var word = ""
        for _ in 0..<Int.random(in: 2...4, using: &random) {
            word.append(consonants[Int.random(in: 0..<consonants.count, using: &random)])
            word.append(vowels[Int.random(in: 0..<vowels.count, using: &random)])
        }
        return word
    }

    static func summary(_ random: inout SplitMix64) -> String {
        (0..<Int.random(in: 3...8, using: &random)).map { _ in word(&random) }.joined(separator: " ")
    }

    static func version(_ random: inout SplitMix64) -> String {
        let numbers = (0..<3).map { _ in String(Int.random(in: 0..<30, using: &random)) }
        return "\(numbers.joined(separator: "."))-\(Int.random(in: 1..<10, using: &random))"
    }
}

extension SplitMix64 {
    /// At least 0, and less than 1.
    mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// A number of which each takes about half as many draws as the one half as large: few numbers take most of them.
    mutating func skewed(below bound: Int) -> Int {
        min(bound, Int(pow(Double(bound + 1), unit()))) - 1
    }
}
