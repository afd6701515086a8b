import Foundation
import Testing

@testable import GraphBench

struct WordNetFilesTests {
    private static let hasDatabase = FileManager.default.fileExists(
        atPath: "\(WordNetFiles.defaultDirectory)/data.noun")

    /// Three synsets: a noun and its hypernym, and a satellite adjective with a marker and a lexical pointer.
    private static let files = [
        "data.noun": [
            "  1 This line is a licence.",
            "00000026 03 n 01 entity 0 001 ~ 00000100 n 0000 | that which is",
            "00000100 05 n 02 Big_Dog 0 hound a 001 @ 00000026 n 0000 | an animal; \"the dog | barked\"  ",
        ].joined(separator: "\n"),
        "data.verb": "",
        "data.adj": "00000200 00 s 01 hot(p) 3 002 + 00000100 n 0102 & 00009999 a 0000 | not cold\n",
        "data.adv": "",
    ]

    private func withFiles(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        for (name, text) in files {
            try text.write(toFile: "\(directory.path)/\(name)", atomically: false, encoding: .utf8)
        }
        try body(directory.path)
    }

    @Test func `a line gives its synset, senses and pointers`() throws {
        try withFiles(Self.files) { directory in
            let files = try WordNetFiles(directory: directory)
            #expect(files.synsets.map(\.key) == ["n00000026", "n00000100", "a00000200"])
            #expect(files.synsets.map(\.isSatellite) == [false, false, true])
            #expect(files.synsets[1].gloss == "an animal; \"the dog | barked\"")
            #expect(files.synsets[1].lexicographerFile == 5)
            #expect(files.senses.map(\.word) == ["entity", "Big_Dog", "hound", "hot"])
            #expect(files.senses.map { files.lemmas[$0.lemma] } == ["entity", "big_dog", "hound", "hot"])
            #expect(files.senses.map(\.number) == [1, 1, 2, 1])
            #expect(files.senses.map(\.lexicalID) == [0, 0, 10, 3])
            #expect(files.pointers.map(\.symbol) == ["~", "@", "+"])
            #expect(files.pointers.map(\.target) == [1, 0, 1])
            #expect(files.pointers[2].sourceNumber == 1)
            #expect(files.pointers[2].targetNumber == 2)
            #expect(files.pointers.map(\.isLexical) == [false, false, true])
            #expect(files.danglingCount == 1)
        }
    }

    @Test func `a missing file is named together with where to get it`() throws {
        try withFiles([:]) { directory in
            let expected = WordNetError.missing(path: "\(directory)/data.noun")
            #expect(throws: expected) { try WordNetFiles(directory: directory) }
            #expect(expected.description.contains("apt-get install wordnet-base"))
        }
    }

    @Test(
        arguments: [
            "x", "00000001 03 n 02 one 0 000 | too few words", "00000001 03 n 01 one 0 000 no gloss",
            "00000001 03 n 01 one 0 001 @ 123456789 n 0000 | a long offset", "0000000g 03 n 01 one 0 000 | no digit",
        ])
    func `a damaged line is named by its number`(line: String) throws {
        var files = Self.files
        files["data.verb"] = "\n\(line)\n"
        try withFiles(files) { directory in
            let error = #expect(throws: WordNetError.self) { try WordNetFiles(directory: directory) }
            #expect(error?.description.hasPrefix("\(directory)/data.verb, line 2: ") == true)
        }
    }

    @Test(.enabled(if: hasDatabase, "the WordNet database is not installed"))
    func `the known figures hold`() throws {
        let files = try WordNetFiles(directory: WordNetFiles.defaultDirectory)
        #expect(WordNetFigures(files) == WordNetFigures.known)
    }
}
