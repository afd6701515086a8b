import Graph

/// A set of words that mean the same.
struct Synset: Entity {
    /// The part of speech's letter and the offset in eight digits.
    var key: String
    var partOfSpeech: String
    var offset: Int
    var isSatellite: Bool
    var lexicographerFile: Int
    var gloss: String
    var senses: ToMany<Sense> = []
    var pointers: ToMany<Pointer> = []
    var incoming: ToMany<Pointer> = []

    static let schema = EntitySchema<Synset>("Synset") {
        $0.attribute("key", \.key, unique: true)
        $0.attribute("partOfSpeech", \.partOfSpeech)
        $0.attribute("offset", \.offset)
        $0.attribute("isSatellite", \.isSatellite)
        $0.attribute("lexicographerFile", \.lexicographerFile)
        $0.attribute("gloss", \.gloss)
        $0.toMany("senses", \.senses, inverse: \Sense.synset, deleteRule: .cascade)
        $0.toMany("pointers", \.pointers, inverse: \Pointer.source, deleteRule: .cascade)
        $0.toMany("incoming", \.incoming, inverse: \Pointer.target, deleteRule: .cascade)
    }
}

/// A word in lower case, whatever it means.
struct Word: Entity {
    var lemma: String
    var senses: ToMany<Sense> = []

    static let schema = EntitySchema<Word>("Word") {
        $0.attribute("lemma", \.lemma, unique: true)
        $0.toMany("senses", \.senses, inverse: \Sense.word, deleteRule: .cascade)
    }
}

/// One word in one of its meanings.
struct Sense: Entity {
    /// The word as it is written in this meaning.
    var text: String
    /// The place in the synset, from 1.
    var number: Int
    var lexicalID: Int
    var word: ToOne<Word> = nil
    var synset: ToOne<Synset> = nil

    static let schema = EntitySchema<Sense>("Sense") {
        $0.attribute("text", \.text)
        $0.attribute("number", \.number)
        $0.attribute("lexicalID", \.lexicalID)
        $0.toOne("word", \.word)
        $0.toOne("synset", \.synset)
    }
}

/// A relation of two synsets, or of the senses whose numbers are not 0.
struct Pointer: Entity {
    /// The symbol of wninput(5).
    var kind: String
    var sourceNumber: Int
    var targetNumber: Int
    var source: ToOne<Synset> = nil
    var target: ToOne<Synset> = nil

    static let schema = EntitySchema<Pointer>("Pointer") {
        $0.attribute("kind", \.kind)
        $0.attribute("sourceNumber", \.sourceNumber)
        $0.attribute("targetNumber", \.targetNumber)
        $0.toOne("source", \.source)
        $0.toOne("target", \.target)
    }
}
