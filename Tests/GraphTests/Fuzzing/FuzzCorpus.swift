import Foundation

/// The inputs of a target that the repository keeps, in one file: each as its length in four bytes, little-endian, and its bytes.
enum FuzzCorpus {
    /// Other packages reach this file by a link.
    static let folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("../../Fuzz/Corpus").standardized

    static func inputs(of target: FuzzTarget) throws -> [[UInt8]] {
        let packed = try [UInt8](Data(contentsOf: folder.appendingPathComponent("\(target.rawValue).inputs")))
        var (inputs, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], packed[...])
        while rest.count >= 4 {
            let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            inputs.append(Array(rest.dropFirst(4).prefix(length)))
            rest = rest.dropFirst(4 + length)
        }
        return inputs
    }

    static func packed(_ inputs: [[UInt8]]) -> [UInt8] {
        inputs.flatMap { input in (0..<4).map { UInt8(truncatingIfNeeded: input.count >> ($0 * 8)) } + input }
    }
}
