import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Everything that differs between operating systems.
enum Platform {
    /// Where libsqlite3 may be found, best first.
    static var sqliteNames: [String] {
        #if canImport(Darwin)
            ["/usr/lib/libsqlite3.dylib"]
        #else
            ["libsqlite3.so.0", "libsqlite3.so"]
        #endif
    }

    /// The program that is running.
    static var executable: URL {
        #if os(Linux)
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        #else
            Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        #endif
    }

    /// What the processor calls itself.
    static var cpuModel: String? {
        #if canImport(Darwin)
            var length = 0
            guard sysctlbyname("machdep.cpu.brand_string", nil, &length, nil, 0) == 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: length)
            guard sysctlbyname("machdep.cpu.brand_string", &bytes, &length, nil, 0) == 0 else { return nil }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            // Processors other than x86 may have no such line.
            guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("model name") }),
                let colon = line.firstIndex(of: ":")
            else { return nil }
            return line[line.index(after: colon)...].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #endif
    }

    /// The operating system and its version.
    static var system: String {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        let numbers = "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
        #if canImport(Darwin)
            return "macOS \(numbers)"
        #else
            return "Linux \(numbers)"
        #endif
    }

    /// Ends a process at once: it has nothing to put away.
    static func end(process identifier: Int32) {
        kill(identifier, SIGKILL)
    }

    static var standardErrorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// The bytes of this process that are in main memory, or nil where the system does not tell.
    static var residentBytes: Int? {
        #if canImport(Darwin)
            var info = mach_task_basic_info()
            var count = mach_msg_type_number_t(
                MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
            // The pointer is rebound for the call only and covers `count` elements of `info`.
            let result = withUnsafeMutablePointer(to: &info) { pointer in
                pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                    task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
                }
            }
            return result == KERN_SUCCESS ? Int(info.resident_size) : nil
        #else
            // Pages: size, resident, shared, … (proc_pid_statm(5)).
            guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
            let fields = text.split(separator: " ")
            guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
            return pages * sysconf(Int32(_SC_PAGESIZE))
        #endif
    }

    /// The bytes that this process has given to calls that write, to files above all; nil where the system does not tell.
    static var writtenBytes: Int? {
        #if canImport(Darwin)
            return nil
        #else
            // proc_pid_io(5)
            guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("wchar:") })
            else { return nil }
            return line.split(separator: " ").last.flatMap { Int($0) }
        #endif
    }

    /// Gives memory that was freed back to the system, as far as the allocator can.
    static func releaseFreeMemory() {
        #if canImport(Darwin)
            malloc_zone_pressure_relief(nil, 0)
        #else
            // Only glibc has it, and its headers do not show it to Swift: int malloc_trim(size_t).
            guard let address = dlsym(nil, "malloc_trim") else { return }
            let trim = unsafeBitCast(address, to: (@convention(c) (Int) -> Int32).self)
            _ = trim(0)
        #endif
    }

    /// Returns once what was written to the file is on the medium.
    static func synchronize(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            fcntl(descriptor, F_FULLFSYNC) == 0
        #else
            fdatasync(descriptor) == 0
        #endif
    }
}
