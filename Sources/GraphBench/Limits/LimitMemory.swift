import Foundation

/// Memory far larger than the caches, in lines of 64 bytes.
final class LimitMemory {
    private let words: UnsafeMutableBufferPointer<UInt32>
    private let wordsPerLine = Workload.Limits.lineBytes / MemoryLayout<UInt32>.stride

    /// Every page is written once, so that no run waits for the system to find one.
    init() {
        words = .allocate(capacity: Workload.Limits.memoryBytes / MemoryLayout<UInt32>.stride)
        words.initialize(repeating: 1)
    }

    deinit {
        words.deallocate()
    }

    private var lines: Int { words.count / wordsPerLine }

    /// Copies one half onto the other, with a mark of the run in its last line.
    ///
    /// - Returns: the number of lines that were copied.
    func copyHalf(run: Int) -> Int {
        let half = words.count / 2
        guard let base = words.baseAddress else { return 0 }
        words[half - 1] = UInt32(run)
        memcpy(base + half, base, half * MemoryLayout<UInt32>.stride)
        return lines / 2
    }

    /// A sum of the last line, which shows what was copied.
    var lastLine: UInt64 {
        words.suffix(wordsPerLine).reduce(0) { $0 + UInt64($1) }
    }

    /// Lets every line name another, in one cycle through all of them in random order (Sattolo's algorithm).
    func linkAsCycle() {
        for line in 0..<lines { words[line * wordsPerLine] = UInt32(line) }
        var random = SplitMix64(seed: 0x6C6F_6164)
        for line in stride(from: lines - 1, to: 0, by: -1) {
            let other = Int.random(in: 0..<line, using: &random)
            words.swapAt(line * wordsPerLine, other * wordsPerLine)
        }
    }

    /// Where `steps` loads lead, none of which can begin before the one before has ended.
    func follow(from start: Int, steps: Int) -> Int {
        var line = start
        for _ in 0..<steps { line = Int(words[line * wordsPerLine]) }
        return line
    }
}
