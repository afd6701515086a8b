extension WordNetFiles {
    /// The files, by the letter that pointers name them with.
    ///
    /// Satellite adjectives are in the adjectives' file.
    enum PartOfSpeech: UInt8, CaseIterable, Sendable {
        case noun = 0x6E  // n
        case verb = 0x76  // v
        case adjective = 0x61  // a
        case adverb = 0x72  // r

        var letter: String { String(UnicodeScalar(rawValue)) }

        var fileName: String {
            switch self {
            case .noun: "data.noun"
            case .verb: "data.verb"
            case .adjective: "data.adj"
            case .adverb: "data.adv"
            }
        }
    }

    /// A set of words that mean the same.
    struct Synset: Sendable {
        let partOfSpeech: PartOfSpeech
        /// Where the synset's line begins in its file; with the part of speech this names the synset.
        let offset: Int
        let isSatellite: Bool
        let lexicographerFile: Int
        let gloss: String
        /// The indices of its senses.
        let senses: Range<Int>
        /// The indices of the pointers that begin here.
        let pointers: Range<Int>

        /// The name of the synset as one text, as in "n02084071".
        var key: String {
            let digits = String(offset)
            return partOfSpeech.letter + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        }
    }

    /// One word in one of its meanings.
    struct Sense: Sendable {
        /// The index of the synset.
        let synset: Int
        /// The place of the word in its synset, from 1.
        let number: Int
        /// The word as it is written, with underscores for spaces and without an adjective's marker.
        let word: String
        /// The index of the word in lower case in ``WordNetFiles/lemmas``.
        let lemma: Int
        let lexicalID: Int
    }

    /// A relation between two synsets, or between two of their senses.
    struct Pointer: Sendable {
        /// The kind, as wninput(5) writes it: "@" is a hypernym, "~" a hyponym, "@i" and "~i" those of instances.
        let symbol: String
        /// The indices of the synsets.
        let source: Int
        let target: Int
        /// The numbers of the senses; both are 0 where the pointer relates the synsets as wholes.
        let sourceNumber: Int
        let targetNumber: Int

        var isLexical: Bool { sourceNumber != 0 || targetNumber != 0 }
    }
}
