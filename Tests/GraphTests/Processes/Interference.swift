import Foundation
import Testing

/// Something that happens to the files of a store while a program has it open, and what must come of it.
///
/// The store is `s/store.graph`, closed beside it lies `s/other.graph` with the number 50.
struct Interference: Sendable, CustomTestStringConvertible {
    enum Second: Sendable {
        case alreadyOpen
        case unusable
        case opens(count: Int)
    }

    /// Where the store is afterwards.
    enum Remains: Sendable {
        case nothing
        /// All that was answered with success, of the first program and of the second.
        case everything(String)
        /// What the second program has saved into a store that is not the first one's.
        case others(String)
        /// A file that was damaged, and is refused with one of these: nothing of it is taken for all there was.
        case damaged([String])
    }

    let testDescription: String
    let happens: @Sendable (Place) throws -> Void
    /// Under which name a second program then tries, and what becomes of that.
    var secondOpens = "s/store.graph"
    let second: Second
    /// Whether the first program's next save succeeds. Otherwise it fails, and every later one.
    var firstSaves = false
    /// What somebody puts right after both have ended.
    var isPutRight: @Sendable (Place) throws -> Void = { _ in }
    var remains = Remains.everything("s/store.graph")

    init(
        _ description: String, second: Second, happens: @escaping @Sendable (Place) throws -> Void
    ) {
        testDescription = description
        self.second = second
        self.happens = happens
    }

    func with(_ change: (inout Interference) -> Void) -> Interference {
        var result = self
        change(&result)
        return result
    }

    /// A folder, and what one does in it.
    struct Place: Sendable {
        let folder: String

        func path(_ name: String) -> String { folder + "/" + name }

        /// Replaces what has the new name.
        func move(_ name: String, _ newName: String) throws {
            guard rename(path(name), path(newName)) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        }

        func copy(_ name: String, _ newName: String) throws {
            try FileManager.default.copyItem(atPath: path(name), toPath: path(newName))
        }

        func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }

        func link(_ name: String, _ newName: String) throws {
            try FileManager.default.linkItem(atPath: path(name), toPath: path(newName))
        }

        func symlink(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: path(target))
        }

        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        }

        func makeFolder(_ name: String) throws {
            try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
        }

        func cut(_ name: String, to count: UInt64) throws {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path(name)))
            try file.truncate(atOffset: count)
            try file.close()
        }

        /// Writes into the file that is there.
        func overwrite(_ name: String, at offset: Int, _ text: String) throws {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path(name)))
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: Data(text.utf8))
            try file.close()
        }

        /// Within the last save, some bytes before its payload's end. A program that waits for a second writes a mark of 48 bytes
        /// behind it, and a save takes 72 or more.
        func placeInLastSave(of name: String) throws -> Int { try end(of: name) - 60 }

        /// Behind the last byte that is not zero.
        func end(of name: String) throws -> Int {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
            return (bytes.lastIndex { $0 != 0 } ?? -1) + 1
        }

        func append(_ name: String, _ text: String) throws {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path(name)))
            try file.seekToEnd()
            try file.write(contentsOf: Data(text.utf8))
            try file.close()
        }

        func text(_ name: String) -> String? { try? String(contentsOfFile: path(name), encoding: .utf8) }
    }
}

extension Interference {
    private static let store = "s/store.graph"
    private static let lock = "s/store.graph.lock"

    static let all: [Interference] = journal + lockFile + folder

    /// What happens to the journal itself.
    private static let journal = [
        Interference("the file is moved, and opened by its new name", second: .alreadyOpen) {
            try $0.move(store, "s/moved.graph")
        }.with {
            $0.secondOpens = "s/moved.graph"
            $0.remains = .everything("s/moved.graph")
        },
        Interference("the file is moved, and opened by its old name", second: .alreadyOpen) {
            try $0.move(store, "s/moved.graph")
        }.with { $0.remains = .everything("s/moved.graph") },
        Interference("the file is moved and comes back", second: .alreadyOpen) {
            try $0.move(store, "s/moved.graph")
            try $0.move("s/moved.graph", store)
        }.with { $0.firstSaves = true },
        Interference("the file is moved by way of a link", second: .alreadyOpen) {
            try $0.link(store, "s/moved.graph")
            try $0.remove(store)
        }.with {
            $0.secondOpens = "s/moved.graph"
            $0.remains = .everything("s/moved.graph")
        },
        Interference("the file is moved, and a symbolic link put in its place", second: .alreadyOpen) {
            try $0.move(store, "s/moved.graph")
            try $0.symlink(store, to: "s/moved.graph")
        },
        Interference("the file is removed", second: .alreadyOpen) { try $0.remove(store) }
            .with { $0.remains = .nothing },
        Interference("the file and its lock file are removed, and a new store is made", second: .opens(count: 0)) {
            try $0.remove(store)
            try $0.remove(lock)
        }.with { $0.remains = .others(store) },
        Interference("the file is replaced by a copy of it", second: .alreadyOpen) {
            try $0.copy(store, "s/copy")
            try $0.move("s/copy", store)
        },
        Interference("the file is replaced by a copy of it, and the lock file removed", second: .opens(count: 2)) {
            try $0.copy(store, "s/copy")
            try $0.move("s/copy", store)
            try $0.remove(lock)
        },
        Interference("the file is replaced by another store", second: .alreadyOpen) {
            try $0.move(store, "s/moved.graph")
            try $0.move("s/other.graph", store)
        }.with { $0.remains = .everything("s/moved.graph") },
        Interference("the file is replaced by another store, and opened by that one's name", second: .alreadyOpen) {
            try $0.move("s/other.graph", "s/third.graph")
            try $0.move(store, "s/other.graph")
            try $0.move("s/third.graph", store)
        }.with {
            $0.secondOpens = "s/other.graph"
            $0.remains = .everything("s/other.graph")
        },
        Interference("the file is replaced by a folder", second: .unusable) {
            try $0.move(store, "s/moved.graph")
            try $0.makeFolder(store)
        }.with { $0.remains = .everything("s/moved.graph") },
        Interference("the file is cut", second: .alreadyOpen) { place in
            let size = try FileManager.default.attributesOfItem(atPath: place.path(store))[.size] as? UInt64 ?? 0
            try place.cut(store, to: size - 4_096)
        },
        Interference("the file is extended", second: .alreadyOpen) { try $0.append(store, "\0") },
        Interference("the file is cut in the midst of what was saved", second: .alreadyOpen) {
            try $0.cut(store, to: UInt64($0.placeInLastSave(of: store)))
        }.with { $0.remains = .damaged(["corrupt"]) },
        Interference("the file is emptied", second: .alreadyOpen) { try $0.cut(store, to: 0) }
            .with { $0.remains = .damaged(["notAStore"]) },
        Interference("the file is overwritten where a save was", second: .alreadyOpen) {
            try $0.overwrite(store, at: $0.placeInLastSave(of: store), "dear diary")
        }.with {
            $0.firstSaves = true
            $0.remains = .damaged(["corrupt", "invalidRecord"])
        },
        Interference("the file is overwritten at its beginning, in both headers", second: .alreadyOpen) {
            try $0.overwrite(store, at: 0, "dear diary")
            try $0.overwrite(store, at: 4_096, "dear diary")
        }.with {
            $0.firstSaves = true
            $0.remains = .damaged(["notAStore"])
        },
        Interference("the file is overwritten far behind the last save", second: .alreadyOpen) {
            try $0.overwrite(store, at: 100_000, "dear diary")
        }.with { $0.firstSaves = true },
        Interference("the file is given other times", second: .alreadyOpen) {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: $0.path(store))
        }.with { $0.firstSaves = true },
        Interference("the file gets a second name, and is opened by that", second: .unusable) {
            try $0.link(store, "s/second.graph")
        }.with {
            $0.secondOpens = "s/second.graph"
            $0.isPutRight = { try $0.remove("s/second.graph") }
        },
    ]

    /// What happens to the lock file.
    private static let lockFile = [
        Interference("the lock file is removed", second: .alreadyOpen) { try $0.remove(lock) },
        Interference("the lock file is moved", second: .alreadyOpen) { try $0.move(lock, "s/moved.lock") },
        Interference("the lock file is moved and comes back", second: .alreadyOpen) {
            try $0.move(lock, "s/moved.lock")
            try $0.move("s/moved.lock", lock)
        }.with { $0.firstSaves = true },
        Interference("the lock file is replaced by an empty file", second: .alreadyOpen) {
            try $0.remove(lock)
            try $0.write(lock, "")
        },
        Interference("the lock file is replaced by a copy of it", second: .alreadyOpen) {
            try $0.copy(lock, "s/copy")
            try $0.move("s/copy", lock)
        },
        Interference("the lock file is replaced by another store's", second: .alreadyOpen) {
            try $0.move("s/other.graph.lock", lock)
        },
        Interference("the lock file is replaced by a text", second: .unusable) {
            try $0.remove(lock)
            try $0.write(lock, "dear diary")
        }.with {
            $0.isPutRight = {
                #expect($0.text(lock) == "dear diary")
                try $0.remove(lock)
            }
        },
        Interference("the lock file is replaced by a folder", second: .unusable) {
            try $0.remove(lock)
            try $0.makeFolder(lock)
        }.with { $0.isPutRight = { try $0.remove(lock) } },
        Interference("the lock file is replaced by a symbolic link to it", second: .unusable) {
            try $0.move(lock, "s/moved.lock")
            try $0.symlink(lock, to: "s/moved.lock")
        }.with { $0.isPutRight = { try $0.remove(lock) } },
        Interference("the lock file gets a second name", second: .unusable) { try $0.link(lock, "s/second.lock") }
            .with { $0.isPutRight = { try $0.remove("s/second.lock") } },
        Interference("the lock file is emptied", second: .alreadyOpen) { try $0.cut(lock, to: 0) }
            .with { $0.firstSaves = true },
        Interference("the lock file is overwritten", second: .alreadyOpen) {
            try $0.overwrite(lock, at: 0, "dear diary")
        }.with {
            $0.firstSaves = true
            $0.isPutRight = { try $0.remove(lock) }
        },
        Interference("the end in the lock file is overwritten", second: .alreadyOpen) {
            try $0.overwrite(lock, at: 520, "dear diary")
        }.with { $0.firstSaves = true },
    ]

    /// What happens to the folder.
    private static let folder = [
        Interference("the folder is moved, and the store opened there", second: .alreadyOpen) { try $0.move("s", "t") }
            .with {
                $0.secondOpens = "t/store.graph"
                $0.remains = .everything("t/store.graph")
            },
        Interference("the folder is moved and comes back", second: .alreadyOpen) {
            try $0.move("s", "t")
            try $0.move("t", "s")
        }.with { $0.firstSaves = true },
        Interference("the folder is replaced by a copy of it", second: .opens(count: 2)) {
            try $0.copy("s", "copy")
            try $0.move("s", "t")
            try $0.move("copy", "s")
        },
        Interference("the folder is moved, and a file put in its place", second: .unusable) {
            try $0.move("s", "t")
            try $0.write("s", "")
        }.with { $0.remains = .everything("t/store.graph") },
    ]
}
