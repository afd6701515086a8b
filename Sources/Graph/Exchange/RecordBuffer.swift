/// Cuts a stream of bytes into records: lines of JSON, or the records of CSV, whose fields in quotation marks may have line ends.
struct RecordBuffer {
    struct Record {
        /// The line on which it begins, from 1.
        let line: Int
        /// Without the line end.
        let bytes: ArraySlice<UInt8>
    }

    /// The longest record.
    static let limitBytes = 64 << 20

    let isCSV: Bool
    /// Whether records of spaces and tabs are left in: texts of CSV with one column. Those without a byte never are.
    var hasBlankRecords = false
    private let limitBytes: Int
    private var bytes: [UInt8] = []
    private var start = 0
    /// Where the search for the record's end goes on, and whether that is in quotation marks.
    private var scanned = 0
    private var isQuoted = false
    private var line = 1
    private var isFirst = true
    private var hasEnded = false

    init(isCSV: Bool, limitBytes: Int = Self.limitBytes) {
        (self.isCSV, self.limitBytes) = (isCSV, limitBytes)
    }

    /// The line of the next record.
    var nextLine: Int { line }

    /// Takes the next bytes of the stream.
    mutating func append(_ piece: some Sequence<UInt8>) {
        bytes.removeSubrange(..<start)
        scanned -= start
        start = 0
        bytes.append(contentsOf: piece)
    }

    /// Takes note of the end of the stream.
    mutating func end() { hasEnded = true }

    /// The next record that is left in; nil if more bytes are needed for one, or if there are no more.
    mutating func next() throws(InvalidValue) -> Record? {
        while let record = try nextLineOrRecord() {
            let isLeftOut = record.bytes.allSatisfy { !hasBlankRecords && ($0 == 0x20 || $0 == 0x09) }
            if !isLeftOut { return record }
        }
        return nil
    }

    private mutating func nextLineOrRecord() throws(InvalidValue) -> Record? {
        if isFirst, bytes.count - start >= 3 || hasEnded {
            isFirst = false
            // A byte order mark, which some programs write before UTF-8.
            if bytes[start...].starts(with: [0xEF, 0xBB, 0xBF]) { (start, scanned) = (start + 3, start + 3) }
        }
        while scanned < bytes.count {
            let byte = bytes[scanned]
            if byte == UInt8(ascii: "\n"), !isQuoted { break }
            if isCSV, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            scanned += 1
        }
        guard scanned - start <= limitBytes else {
            throw InvalidValue("it is longer than \(limitBytes >> 20) MiB, which is the limit")
        }
        guard scanned < bytes.count || (hasEnded && start < bytes.count) else { return nil }
        guard !isQuoted else { throw InvalidValue("a quotation mark is never closed") }
        var record = bytes[start..<scanned]
        let first = line
        line += record.count { $0 == UInt8(ascii: "\n") } + 1
        if record.last == UInt8(ascii: "\r") { record.removeLast() }
        scanned = min(scanned + 1, bytes.count)
        start = scanned
        return Record(line: first, bytes: record)
    }
}

/// A field of CSV (RFC 4180). Without quotation marks an empty one is no value; with them it is an empty text.
struct CSVField {
    let text: String
    let isQuoted: Bool

    /// Fields of one record, at most.
    private static let countLimit = 10_000

    /// The fields of a record.
    static func read(_ bytes: ArraySlice<UInt8>) throws(InvalidValue) -> [CSVField] {
        var fields: [CSVField] = []
        var rest = bytes
        while true {
            guard fields.count < countLimit else { throw InvalidValue("it has more than \(countLimit) fields") }
            fields.append(try field(&rest))
            guard let next = rest.popFirst() else { return fields }
            guard next == UInt8(ascii: ",") else { throw InvalidValue("something follows a closing quotation mark") }
        }
    }

    private static func field(_ rest: inout ArraySlice<UInt8>) throws(InvalidValue) -> CSVField {
        let mark = UInt8(ascii: "\"")
        guard rest.first == mark else {
            let part = rest.prefix { $0 != UInt8(ascii: ",") }
            guard !part.contains(mark) else {
                throw InvalidValue("a quotation mark stands in a field that does not begin with one")
            }
            rest = rest[part.endIndex...]
            return CSVField(text: try text(of: part), isQuoted: false)
        }
        rest.removeFirst()
        // What comes before the last mark of the text, which the field has twice.
        var utf8: [UInt8] = []
        while true {
            let part = rest.prefix { $0 != mark }
            rest = rest[part.endIndex...].dropFirst()
            guard rest.first == mark else {
                return CSVField(text: try text(of: utf8.isEmpty ? part : (utf8 + part)[...]), isQuoted: true)
            }
            utf8 += part
            utf8.append(mark)
            rest.removeFirst()
        }
    }

    private static func text(of utf8: ArraySlice<UInt8>) throws(InvalidValue) -> String {
        guard let text = utf8.withUnsafeBytes({ ByteReader.string(validating: $0) }) else {
            throw InvalidValue("it is not UTF-8")
        }
        return text
    }

    /// Appends the text of a value, in quotation marks where it needs them.
    ///
    /// - Parameter isPlain: whether texts and bytes stand there as they are. Otherwise they have the notation of JSON.
    static func append(_ value: StoredValue, isPlain: Bool = true, to csv: inout [UInt8]) {
        var text: [UInt8] = []
        switch value {
        case .null: return
        case .text(let content) where isPlain: text += content.utf8
        case .bytes where isPlain:
            // Base64 has no quotation marks but those around it.
            value.appendJSON(to: &text)
            text = Array(text.dropFirst().dropLast())
        default: value.appendJSON(to: &text)
        }
        let needsQuotes = text.isEmpty || text.contains { ",\"\r\n".utf8.contains($0) } || text.first == 0x20
        guard needsQuotes else {
            csv += text
            return
        }
        csv.append(UInt8(ascii: "\""))
        for byte in text {
            if byte == UInt8(ascii: "\"") { csv.append(byte) }
            csv.append(byte)
        }
        csv.append(UInt8(ascii: "\""))
    }
}
