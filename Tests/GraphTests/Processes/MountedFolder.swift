import Foundation

/// A file system of its own at some folder: a small one in memory, or a folder's second name.
///
/// The system mounts for nobody but root, and not for every root; nor is this written for anything but Linux.
final class MountedFolder {
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether the system mounts for this process. Tests that need it are left out otherwise.
    static let isPermitted: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        return (try? MountedFolder(bytes: 65_536, at: folder.path)) != nil
    }()

    let path: String
    private var isMounted = true

    /// A disk of so many bytes in place of what the folder has. The system rounds up to whole pages.
    init(bytes: Int, at folder: String) throws {
        path = folder
        try Self.mount("tmpfs", folder, "tmpfs", 0, "size=\(bytes)")
    }

    /// A second name of a folder.
    init(_ folder: String, at path: String) throws {
        self.path = path
        try Self.mount(folder, path, "none", Self.bind, nil)
    }

    deinit {
        try? unmount()
    }

    func resize(bytes: Int) throws { try Self.mount("tmpfs", path, "tmpfs", Self.remount, "size=\(bytes)") }

    func setReadOnly(_ isReadOnly: Bool) throws {
        try Self.mount("tmpfs", path, "tmpfs", Self.remount | (isReadOnly ? Self.readOnly : 0), nil)
    }

    /// Takes the name away at once. What is open stays open.
    func unmount() throws {
        guard isMounted else { return }
        isMounted = false
        guard let unmount = Self.function("umount2", as: Unmount.self), unmount(path, 2) == 0 else {
            throw Refused(description: "\(path) cannot be unmounted: errno \(errno)")
        }
    }

    // The modules leave these out; the numbers are part of the kernel's interface (`include/uapi/linux/mount.h`).

    private static let readOnly: UInt = 1
    private static let remount: UInt = 32
    private static let bind: UInt = 4_096

    private typealias Mount =
        @convention(c) (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, UInt, UnsafePointer<CChar>?
        ) -> Int32
    private typealias Unmount = @convention(c) (UnsafePointer<CChar>, Int32) -> Int32

    private static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        #if os(Linux)
            return dlsym(nil, name).map { unsafeBitCast($0, to: type) }
        #else
            return nil
        #endif
    }

    private static func mount(_ source: String, _ path: String, _ type: String, _ flags: UInt, _ options: String?)
        throws
    {
        guard let mount = function("mount", as: Mount.self), mount(source, path, type, flags, options) == 0 else {
            throw Refused(description: "\(source) cannot be mounted at \(path): errno \(errno)")
        }
    }
}
