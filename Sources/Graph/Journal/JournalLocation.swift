/// A journal's absolute path without symbolic links, so that all names of one file share one lock.
struct JournalLocation: Sendable, Equatable {
    let path: StorePath
    let directory: StorePath
    let name: StorePath

    var lockPath: StorePath { path.appending(".lock") }

    /// For messages.
    var text: String { path.text }

    init(resolving text: String, in fileSystem: any StoreFileSystem) throws(GraphError) {
        guard !text.isEmpty else {
            throw .unusableFile(path: text, reason: "the path is empty: name a file")
        }
        guard !text.utf8.contains(0) else {
            throw .unusableFile(path: text, reason: "not a path, since it contains a zero byte: name a file")
        }
        let path = StorePath(text)
        do throws(IOError) {
            let resolved = try repeatingInterrupted { () throws(IOError) in try fileSystem.resolve(path) }
            (directory, name) = resolved.split()
        } catch {
            let (parent, last) = path.split()
            switch error.reason {
            case .missing: break
            case .notDirectory: throw .directoryMissing(path: parent.text)
            case .symbolicLink:
                throw .unusableFile(path: text, reason: "its symbolic links form a loop: correct where they lead")
            default: throw error.graphError(path: text)
            }
            guard !last.bytes.isEmpty, last != StorePath("."), last != StorePath("..") else {
                throw .unusableFile(path: text, reason: "this is the name of a folder: name a file")
            }
            name = last
            do throws(IOError) {
                directory = try repeatingInterrupted { () throws(IOError) in try fileSystem.resolve(parent) }
            } catch {
                guard error.reason == .missing else { throw error.graphError(path: text) }
                throw .directoryMissing(path: parent.text)
            }
        }
        self.path = directory.appending(component: name)
    }
}
