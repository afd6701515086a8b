import Foundation

/// The library of `Tests/SystemFaults`, which lets calls to the system fail in programs that are started with it.
///
/// The tests build it with the C compiler that every Swift toolchain has.
enum SystemFaults {
    struct NotBuilt: Error, CustomStringConvertible {
        let description: String
    }

    /// On other systems programs are not made of such libraries, and what a fault does is Linux's way.
    static var isSupported: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }

    /// What can happen to calls that the engine makes, where it makes sense; see `faults.c`.
    static let faults: [(call: String, faults: [String])] = [
        (
            "pwrite",
            ["EIO", "EIO-late", "ENOSPC", "ENOSPC-late", "EDQUOT", "EFBIG", "EROFS", "EINTR", "short", "nothing"]
        ),
        ("pread", ["EIO", "EINTR", "short", "nothing"]),
        ("fdatasync", ["EIO", "EIO-late", "ENOSPC", "EDQUOT", "EROFS", "EINTR"]),
        ("fsync", ["EIO", "EIO-late", "ENOSPC", "EDQUOT", "EROFS", "EINTR"]),
        ("ftruncate", ["EIO", "EIO-late", "EFBIG", "EROFS", "EINTR"]),
        ("open", ["EIO", "ENOSPC", "EDQUOT", "EROFS", "EINTR", "EMFILE"]),
        ("renameat2", ["EIO", "EIO-late", "ENOSPC", "EDQUOT", "EROFS", "EINTR", "ENOSYS"]),
        ("rename", ["EIO", "EIO-late", "ENOSPC", "EDQUOT", "EROFS", "EINTR"]),
        ("link", ["EIO", "EIO-late", "ENOSPC", "EDQUOT", "EROFS", "EPERM"]),
        ("unlink", ["EIO", "EIO-late", "EROFS", "EINTR"]),
        ("statx", ["EIO", "EINTR", "ENOSYS", "ENOMEM"]),
        ("lstat", ["EIO", "EINTR", "ENOMEM"]),
        ("fstat", ["EIO", "EINTR", "ENOMEM"]),
        ("realpath", ["EIO", "EINTR", "ENOMEM"]),
        ("opendir", ["EIO", "EINTR", "EMFILE"]),
        ("readdir", ["EIO"]),
        ("flock", ["EIO", "EINTR", "ENOLCK"]),
        ("lseek", ["EIO"]),
        ("close", ["EIO", "EINTR"]),
    ]

    /// The folder of the programs of the toolchain whose library the process has loaded, from where it has not been copied elsewhere.
    private static var toolchain: String? {
        let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        let line = maps?.split(separator: "\n").first { $0.hasSuffix("/lib/swift/linux/libswiftCore.so") }
        return line?.split(separator: " ").last.map { library in
            URL(fileURLWithPath: String(library)).appending(path: "../../../../bin").standardized.path
        }
    }

    /// Built once, and removed with the folder of the process's tests.
    static let library = Result { () throws -> (path: String, folder: TemporaryFolder) in
        let folder = try TemporaryFolder()
        let source = DocumentedProgram.root.appending(path: "Tests/SystemFaults/faults.c").path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["clang", "-shared", "-fPIC", "-o", folder.file("faults.so"), source]
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = [environment["PATH"], toolchain].compactMap { $0 }.joined(separator: ":")
        process.environment = environment
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let output = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw NotBuilt(description: output) }
        return (folder.file("faults.so"), folder)
    }
}
