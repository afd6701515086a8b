import Foundation

/// The WordNet 3.0 database as its files state it.
struct WordNetFiles: Sendable {
    static let defaultDirectory = "/usr/share/wordnet"

    private(set) var synsets: [Synset] = []
    private(set) var senses: [Sense] = []
    private(set) var pointers: [Pointer] = []
    /// The distinct words in lower case.
    private(set) var lemmas: [String] = []
    /// Pointers that name a synset or a sense that does not exist; ``pointers`` leaves them out.
    private(set) var danglingCount = 0

    init(directory: String) throws(WordNetError) {
        var sources: [(path: String, partOfSpeech: PartOfSpeech, bytes: [UInt8])] = []
        for partOfSpeech in PartOfSpeech.allCases {
            let path = "\(directory)/\(partOfSpeech.fileName)"
            guard let data = FileManager.default.contents(atPath: path) else { throw .missing(path: path) }
            sources.append((path, partOfSpeech, [UInt8](data)))
        }
        var unresolved: [UnresolvedPointer] = []
        var lemmaIndices: [String: Int] = [:]
        var synsetIndices: [SynsetName: Int] = [:]
        for (path, partOfSpeech, bytes) in sources {
            var line = 0
            var start = 0
            while start < bytes.count {
                line += 1
                let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
                defer { start = end + 1 }
                // The licence in front of the data is indented.
                if end == start || bytes[start] == 0x20 { continue }
                let record: WordNetLine
                do {
                    record = try WordNetLine(bytes[start..<end])
                } catch {
                    throw .malformed(path: path, line: line, reason: error.reason)
                }
                synsetIndices[SynsetName(partOfSpeech: partOfSpeech, offset: record.offset)] = synsets.count
                append(record, partOfSpeech, &lemmaIndices, &unresolved)
            }
        }
        resolve(unresolved, synsetIndices)
    }

    private struct SynsetName: Hashable {
        let partOfSpeech: PartOfSpeech
        let offset: Int
    }

    private struct UnresolvedPointer {
        let source: Int
        let pointer: WordNetLine.Pointer
    }

    private mutating func append(
        _ record: WordNetLine, _ partOfSpeech: PartOfSpeech, _ lemmaIndices: inout [String: Int],
        _ unresolved: inout [UnresolvedPointer]
    ) {
        let index = synsets.count
        synsets.append(
            Synset(
                partOfSpeech: partOfSpeech, offset: record.offset, isSatellite: record.isSatellite,
                lexicographerFile: record.lexicographerFile, gloss: record.gloss,
                senses: senses.count..<senses.count + record.words.count,
                pointers: unresolved.count..<unresolved.count + record.pointers.count))
        for (position, word) in record.words.enumerated() {
            let text = String(decoding: word.text, as: UTF8.self)
            let lemma = String(decoding: word.text.lazy.map(Self.lowercased), as: UTF8.self)
            let lemmaIndex = lemmaIndices[lemma] ?? lemmas.count
            if lemmaIndex == lemmas.count {
                lemmas.append(lemma)
                lemmaIndices[lemma] = lemmaIndex
            }
            senses.append(
                Sense(
                    synset: index, number: position + 1, word: text, lemma: lemmaIndex, lexicalID: word.lexicalID))
        }
        for pointer in record.pointers {
            unresolved.append(UnresolvedPointer(source: index, pointer: pointer))
        }
    }

    /// Finds the targets once all synsets are known.
    private mutating func resolve(_ unresolved: [UnresolvedPointer], _ synsetIndices: [SynsetName: Int]) {
        pointers.reserveCapacity(unresolved.count)
        for (source, pointer) in unresolved.lazy.map({ ($0.source, $0.pointer) }) {
            guard
                let partOfSpeech = PartOfSpeech(rawValue: pointer.partOfSpeech),
                let target = synsetIndices[SynsetName(partOfSpeech: partOfSpeech, offset: pointer.offset)],
                pointer.sourceNumber <= synsets[source].senses.count,
                pointer.targetNumber <= synsets[target].senses.count
            else {
                danglingCount += 1
                continue
            }
            pointers.append(
                Pointer(
                    symbol: String(decoding: pointer.symbol, as: UTF8.self), source: source, target: target,
                    sourceNumber: pointer.sourceNumber, targetNumber: pointer.targetNumber))
        }
    }

    /// The words are ASCII.
    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
