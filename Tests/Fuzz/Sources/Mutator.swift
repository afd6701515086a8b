@testable import Graph

/// libFuzzer's own mutations, in place.
@_silgen_name("LLVMFuzzerMutate") private func mutate(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int
) -> Int

/// Mutates what has a structure part by part, so that lengths stay right; everything else as libFuzzer does.
@_cdecl("LLVMFuzzerCustomMutator") func customMutator(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32
) -> Int {
    var random = SeededGenerator(seed: UInt64(seed))
    guard Fuzz.target.isScript, !random.chance(8) else { return mutate(bytes, count, limit) }
    var script = RecordScript(reading: Array(UnsafeBufferPointer(start: bytes, count: count)))
    script.mutate(&random)
    let result = script.bytes
    guard result.count <= limit else { return mutate(bytes, count, limit) }
    for (place, byte) in result.enumerated() { bytes[place] = byte }
    return result.count
}

extension RecordScript {
    fileprivate mutating func mutate(_ random: inout SeededGenerator) {
        guard let number = records.indices.randomElement(using: &random) else {
            records.append(Record(kind: UInt8.random(in: 1...7, using: &random), payload: [0]))
            return
        }
        switch Int.random(in: 0..<16, using: &random) {
        case 0: options ^= 1 << UInt8.random(in: 0..<4, using: &random)
        case 1: program = .random(in: 0...255, using: &random)
        case 2: baseCommit = random.chance(2) ? baseCommit &+ 1 : .random(in: 0...9, using: &random)
        case 3: records[number].flags ^= 1 << UInt8.random(in: 0..<4, using: &random)
        case 4: records[number].kind = .random(in: 1...7, using: &random)
        case 5: records.remove(at: number)
        case 6: records.insert(records[number], at: .random(in: 0...records.count, using: &random))
        case 7: records.swapAt(number, .random(in: records.indices, using: &random))
        case 8: tail = mutated(tail)
        case 9: splice(number, &random)
        case 10: putLargeNumber(number, &random)
        default: records[number].payload = mutated(records[number].payload)
        }
    }

    /// Puts a part of another payload into one.
    private mutating func splice(_ number: Int, _ random: inout SeededGenerator) {
        let source = records[.random(in: records.indices, using: &random)].payload
        let start = Int.random(in: 0...source.count, using: &random)
        let part = source[start..<Int.random(in: start...min(source.count, start + 64), using: &random)]
        let target = records[number].payload
        let place = Int.random(in: 0...target.count, using: &random)
        let end = random.chance(2) ? place : min(place + part.count, target.count)
        records[number].payload.replaceSubrange(place..<end, with: part)
    }

    /// Puts a number near the greatest one in the place of a byte.
    private mutating func putLargeNumber(_ number: Int, _ random: inout SeededGenerator) {
        guard let place = records[number].payload.indices.randomElement(using: &random) else { return }
        var writer = ByteWriter()
        writer.appendVarint((random.chance(2) ? .max : 1 << 62) - UInt64.random(in: 0...3, using: &random))
        records[number].payload.replaceSubrange(place...place, with: writer.bytes)
    }

    private func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var room = bytes + [UInt8](repeating: 0, count: 64)
        let count = room.withUnsafeMutableBufferPointer { buffer in
            // There is room for more, so the buffer has an address.
            anyMutation(buffer.baseAddress.unsafelyUnwrapped, bytes.count, buffer.count)
        }
        return Array(room.prefix(min(count, RecordScript.payloadLimit)))
    }
}

/// Outside of the type, whose own function has this name.
private func anyMutation(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int {
    mutate(bytes, count, limit)
}
