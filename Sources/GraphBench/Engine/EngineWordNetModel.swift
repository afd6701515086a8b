import Graph

/// A set of words that mean the same.
@Entity struct Synset {
    /// The part of speech's letter and the offset in eight digits.
    @Unique var key: String
    var partOfSpeech: String
    var offset: Int
    var isSatellite: Bool
    var lexicographerFile: Int
    var gloss: String
    @Relationship(.cascade, inverse: \Sense.synset) var senses: ToMany<Sense> = []
    @Relationship(.cascade, inverse: \Pointer.source) var pointers: ToMany<Pointer> = []
    @Relationship(.cascade, inverse: \Pointer.target) var incoming: ToMany<Pointer> = []
}

/// A word in lower case, whatever it means.
@Entity struct Word {
    @Unique var lemma: String
    @Relationship(.cascade, inverse: \Sense.word) var senses: ToMany<Sense> = []
}

/// One word in one of its meanings.
@Entity struct Sense {
    /// The word as it is written in this meaning.
    var text: String
    /// The place in the synset, from 1.
    var number: Int
    var lexicalID: Int
    var word: ToOne<Word> = nil
    var synset: ToOne<Synset> = nil
}

/// A relation of two synsets, or of the senses whose numbers are not 0.
@Entity struct Pointer {
    /// The symbol of wninput(5).
    var kind: String
    var sourceNumber: Int
    var targetNumber: Int
    var source: ToOne<Synset> = nil
    var target: ToOne<Synset> = nil
}
