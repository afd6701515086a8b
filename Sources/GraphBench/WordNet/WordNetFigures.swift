/// What is known about WordNet 3.0, each figure with the one reading that gives it.
struct WordNetFigures: Equatable, Sendable {
    /// Lines of the four files.
    var synsets: Int
    /// Words of all synsets.
    var senses: Int
    /// Distinct words in lower case, without adjectives' markers, whatever the part of speech.
    var lemmas: Int
    /// Pointers of every kind.
    var pointers: Int
    /// Pointers between senses: neither number of their source/target field is 0.
    var lexicalPointers: Int
    /// Pointers whose synset or sense does not exist.
    var danglingPointers: Int
    /// Pointers of the kind "@", from nouns and verbs; those of instances ("@i") are not among them.
    var hypernymPointers: Int
    /// How many pairs of synsets are related by "~" in the files but not by "@" read backwards, or the other way round.
    var inverseDifferences: Int
    /// The distinct synsets above dog (n02084071) by "@" and "@i".
    var dogAncestors: Int
    /// The distinct synsets below entity (n00001740) by "@" and "@i" read backwards: every noun but entity itself.
    var belowEntity: Int

    static let known = WordNetFigures(
        synsets: 117_659, senses: 206_978, lemmas: 147_306, pointers: 377_592, lexicalPointers: 92_244,
        danglingPointers: 0, hypernymPointers: 89_089, inverseDifferences: 0, dogAncestors: 14, belowEntity: 82_114)

    /// Each figure with its name, in the order of the report.
    var named: [(name: String, value: Int)] {
        [
            ("synsets", synsets),
            ("senses", senses),
            ("distinct lemmas", lemmas),
            ("pointers", pointers),
            ("lexical pointers", lexicalPointers),
            ("dangling pointers", danglingPointers),
            ("hypernym pointers", hypernymPointers),
            ("hypernyms read backwards that differ from the hyponyms", inverseDifferences),
            ("synsets above dog", dogAncestors),
            ("synsets below entity", belowEntity),
        ]
    }

    static let hypernym = "@"
    static let hyponym = "~"
    /// The kinds that lead to more general synsets, from classes and from instances.
    static let upward: Set<String> = ["@", "@i"]
    static let dog = "n02084071"
    static let entity = "n00001740"
}

extension WordNetFigures {
    /// The figures of parsed files.
    init(_ files: WordNetFiles) {
        var above: [[Int]] = Array(repeating: [], count: files.synsets.count)
        var below = above
        for pointer in files.pointers where Self.upward.contains(pointer.symbol) {
            above[pointer.source].append(pointer.target)
            below[pointer.target].append(pointer.source)
        }
        func reached(from key: String, _ next: [[Int]]) -> Int {
            guard let start = files.synsets.firstIndex(where: { $0.key == key }) else { return 0 }
            return Self.reached(from: start) { next[$0] }.count
        }
        let backwards = files.pointers.lazy.filter { $0.symbol == Self.hypernym }
            .map { WordNetPair(from: files.synsets[$0.target].key, to: files.synsets[$0.source].key) }
        self.init(
            synsets: files.synsets.count, senses: files.senses.count, lemmas: files.lemmas.count,
            pointers: files.pointers.count + files.danglingCount,
            lexicalPointers: files.pointers.count(where: \.isLexical), danglingPointers: files.danglingCount,
            hypernymPointers: files.pointers.count { $0.symbol == Self.hypernym },
            inverseDifferences: Set(backwards).symmetricDifference(WordNetPair.hyponyms(of: files)).count,
            dogAncestors: reached(from: Self.dog, above), belowEntity: reached(from: Self.entity, below))
    }

    /// Everything that `next` leads to, step by step, without the start itself.
    static func reached<Node: Hashable>(from start: Node, _ next: (Node) throws -> [Node]) rethrows -> Set<Node> {
        var reached: Set<Node> = [start]
        var open = [start]
        while let node = open.popLast() {
            for other in try next(node) where reached.insert(other).inserted {
                open.append(other)
            }
        }
        reached.remove(start)
        return reached
    }
}
