/// Two related synsets, by their keys.
struct WordNetPair: Hashable, Sendable {
    let from: String
    let to: String

    /// The pairs that the files relate by "~".
    static func hyponyms(of files: WordNetFiles) -> Set<WordNetPair> {
        Set(
            files.pointers.lazy.filter { $0.symbol == WordNetFigures.hyponym }
                .map { WordNetPair(from: files.synsets[$0.source].key, to: files.synsets[$0.target].key) })
    }
}
