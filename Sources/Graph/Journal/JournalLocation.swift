/// Where a journal is: an absolute path without symbolic links, so that all names of one file give one lock.
struct JournalLocation: Sendable, Equatable {
    let path: String
    let directory: String
    let name: String

    var lockPath: String { path + ".lock" }

    init(resolving path: String, in fileSystem: any StoreFileSystem) throws(GraphError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw .unusableFile(path: path, reason: "not a path")
        }
        do throws(IOError) {
            let resolved = try fileSystem.resolve(path)
            (directory, name) = Self.split(resolved)
        } catch {
            let (parent, last) = Self.split(path)
            switch error.reason {
            case .missing: break
            case .notDirectory: throw .directoryMissing(path: parent)
            case .symbolicLink: throw .unusableFile(path: path, reason: "symbolic links in a circle")
            default: throw error.graphError(path: path)
            }
            guard !last.isEmpty, last != ".", last != ".." else {
                throw .unusableFile(path: path, reason: "not the name of a file")
            }
            name = last
            do throws(IOError) {
                directory = try fileSystem.resolve(parent)
            } catch {
                guard error.reason == .missing else { throw error.graphError(path: path) }
                throw .directoryMissing(path: parent)
            }
        }
        self.path = Self.join(directory, name)
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory == "/" ? "/" + name : directory + "/" + name
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let directory = path[..<slash]
        return (directory.isEmpty ? "/" : String(directory), String(path[path.index(after: slash)...]))
    }
}
