/// A piece of a program's source, as the compiler hands it over: its text and where in which file it begins.
struct SourceText: Sendable {
    let bytes: [UInt8]
    let fileName: String
    /// Of the first byte, in UTF-8 units from the start of the file.
    let fileOffset: Int
    /// Of the first byte, from 1.
    let firstLine: Int

    init(_ text: String, fileName: String = "", fileOffset: Int = 0, firstLine: Int = 1) {
        bytes = Array(text.utf8)
        self.fileName = fileName
        self.fileOffset = fileOffset
        self.firstLine = firstLine
    }

    /// The lines of the file.
    var lines: Lines { Lines(source: self, line: firstLine) }

    /// Tells the line of each byte of a source that it is asked for, in ascending order, in one pass.
    struct Lines {
        fileprivate let source: SourceText
        fileprivate var offset = 0
        fileprivate var line: Int

        mutating func number(of offset: Int) -> Int {
            line += source.bytes[self.offset..<max(offset, self.offset)].count { $0 == UInt8(ascii: "\n") }
            self.offset = max(offset, self.offset)
            return line
        }
    }

    subscript(range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

/// Something that is wrong at a place of a `SourceText`, in words for its author.
struct Problem: Error, Equatable, Sendable {
    let message: String
    /// Of bytes in the source text.
    let range: Range<Int>
    /// Whether the declaration means something all the same.
    var isWarning = false
}
