import Dispatch
import Foundation
import Graph

/// Looks into files of stores, without the programs that wrote them.
@main @MainActor struct GraphCtl {
    /// Called with whole lines.
    let output: (String) -> Void
    let errors: (String) -> Void
    /// Called when somebody waits for what was printed.
    var flush: () -> Void = {}
    /// Called with what a long command is doing; nil where nobody looks.
    var progress: (@Sendable (String) -> Void)?

    /// The same as the library tells it.
    private var meter: (@Sendable (StoreProgress) -> Void)? {
        guard let progress else { return nil }
        return { progress($0.description) }
    }

    private var importMeter: (@Sendable (ImportProgress) -> Void)? {
        guard let progress else { return nil }
        return { progress("reading: \($0.rowCount) objects and \($0.linkCount) links") }
    }

    static func main() async {
        var buffer = Data()
        let line = ProgressLine()
        func flush() {
            line?.erase()
            do {
                try FileHandle.standardOutput.write(contentsOf: buffer)
            } catch {
                let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
                let reason = cause.map { String(cString: strerror(Int32(truncatingIfNeeded: $0.code))) } ?? "\(error)"
                try? FileHandle.standardError.write(
                    contentsOf: Data("graphctl: cannot write the output: \(reason)\n".utf8))
                exit(1)
            }
            buffer.removeAll(keepingCapacity: true)
        }
        var program = GraphCtl(
            output: { text in
                buffer.append(contentsOf: text.utf8)
                if buffer.count > 1 << 16 { flush() }
            },
            errors: {
                line?.erase()
                try? FileHandle.standardError.write(contentsOf: Data($0.utf8))
            })
        program.flush = flush
        if let line { program.progress = { line.show($0) } }
        let code = await program.run(Array(CommandLine.arguments.dropFirst()))
        flush()
        exit(code)
    }

    /// Returns the exit code.
    func run(_ arguments: [String]) async -> Int32 {
        guard let first = arguments.first else {
            errors(Help.text)
            return 2
        }
        if first == "help" || !Set(arguments.prefix { $0 != "--" }).isDisjoint(with: ["--help", "-h"]) {
            let name = first == "help" ? arguments.dropFirst().first : first
            output(Help.commands.first { $0.name == name }?.text ?? Help.text)
            return 0
        }
        guard !first.hasPrefix("-") else {
            errors("graphctl: options come behind a command; graphctl --help lists the commands\n")
            return 2
        }
        let options: Options
        do throws(Options.Invalid) {
            options = try Options(arguments)
        } catch {
            let isCommand = Help.commands.contains { $0.name == first }
            let advice = isCommand ? "graphctl \(first) --help has an example" : "graphctl --help lists the commands"
            errors("graphctl: \(error.message); \(advice)\n")
            return 2
        }
        do throws(GraphError) {
            return try await run(options.command, options.file)
        } catch {
            switch (options.command, error) {
            // It would advise to salvage the file.
            case (.salvage, .corrupt(let path, _, _, let reason)):
                errors("graphctl: \(path): nothing can be salvaged: \(reason)\n")
            case (.importing, .importFailed(let failures)):
                errors(
                    "graphctl: nothing was imported:\n\(failures)\ngraphctl: --on-conflict says what becomes of values that are "
                        + "taken, --ignore-unknown of references to unknown objects; graphctl import --help has both\n")
            default: errors("graphctl: \(error)\n")
            }
            return 1
        }
    }

    private func run(_ command: Options.Command, _ file: String) async throws(GraphError) -> Int32 {
        if case .log(let format, let hasChanges) = command {
            log(try await StoreLog(reading: file, hasDetails: hasChanges), format)
            return 0
        }
        if case .follow(let format, let hasChanges) = command {
            try await follow(try await StoreFollowing(file, hasDetails: hasChanges), format)
            return 0
        }
        if case .compact(let hasHistory) = command {
            let compaction = try await StoreInspection.compact(
                file, retention: hasHistory ? .all : .none, progress: meter)
            remark(compaction.path, compaction.diagnostics)
            output(
                "\(compaction.path): \(compaction.bytesBefore) bytes before, \(compaction.bytesAfterwards) bytes now\n")
            return 0
        }
        if case .salvage(let newFile) = command {
            return salvage(try await StoreSalvage(of: file, to: newFile, progress: meter), from: file)
        }
        if case .importing(let rows) = command { try await StoreImport.free(rows.output) }
        let store = try await StoreInspection(reading: file, progress: meter)
        switch command {
        case .verify: return verify(store)
        case .stat:
            output(statistics(of: store))
            return 0
        case .schema: output(store.schemaText)
        case .dump(let format, let entity):
            guard dump(store, format, entity) else { return 2 }
        case .export(let format, let entity, let links):
            guard try await export(store, format, entity, links) else { return 2 }
        case .importing(let rows):
            guard rows.sources.allSatisfy({ hasEntity(store, $0.entity) }) else { return 2 }
            let result = try await StoreImport(
                into: store, from: rows.sources, to: rows.output, onConflict: rows.onConflict,
                ignoresUnknownTargets: rows.ignoresUnknown,
                reading: importMeter, progress: meter)
            let (before, now) = result.objectCounts
            output(
                "\(result.path): written, at commit \(result.commit), after reading \(result.rowCount) objects and "
                    + "\(result.linkCount) links; it has \(now) objects, and \(store.path) has \(before)\n")
        case .diff(let other):
            let other = try await StoreInspection(reading: other, progress: meter)
            remark(store)
            remark(other)
            return difference(from: store, to: other)
        case .compact, .follow, .log, .salvage: break
        }
        remark(store)
        return 0
    }

    private func salvage(_ salvage: StoreSalvage, from file: String) -> Int32 {
        remark(file, salvage.remarks)
        for line in salvage.losses { output("\(file): \(line)\n") }
        for (entity, count) in salvage.objectCounts { output("\(salvage.path): objects of \(entity): \(count)\n") }
        let isWhole = salvage.losses.isEmpty
        let summary = isWhole ? "nothing was dropped" : "what is listed above is not in it"
        output("\(salvage.path): written, at commit \(salvage.commit); \(summary)\n")
        return isWhole ? 0 : 4
    }

    private func remark(_ store: StoreInspection) { remark(store.path, store.damages + store.diagnostics) }

    private func remark(_ path: String, _ diagnostics: [String]) {
        for line in diagnostics { errors("graphctl: \(path): \(line)\n") }
    }

    private func verify(_ store: StoreInspection) -> Int32 {
        progress?("checking every index, reference and unique value")
        let findings = store.damages + store.check()
        for line in findings + store.diagnostics { output("\(store.path): \(line)\n") }
        guard findings.isEmpty else { return 1 }
        let objects = store.objectCounts.reduce(0) { $0 + $1.count }
        output("\(store.path): sound, with \(objects) objects at commit \(store.commit)\n")
        return 0
    }

    private func statistics(of store: StoreInspection) -> String {
        var lines = [
            ("file", store.path),
            ("store", store.storeID),
            ("commit", "\(store.commit)"),
            ("generation", "\(store.generation)"),
            ("bytes", "\(store.lengthBytes)"),
            ("bytes since the last compaction", "\(store.lengthBytes - min(store.lengthBytes, store.checkpointBytes))"),
            ("bytes of commits that it has retained", "\(store.historyBytes)"),
        ]
        lines += store.consumers.map { ("consumer \(StoredValue.text($0.name))", "at commit \($0.commit)") }
        if store.compactionTime > 0 { lines.append(("last compaction", Self.text(ofTime: store.compactionTime))) }
        lines += store.objectCounts.map { ("objects of \($0.entity)", "\($0.count)") }
        lines += store.linkCounts.map { ("links of \($0.relationship)", "\($0.count)") }
        lines += store.metadata.map { ("metadata \(StoredValue.text($0.key))", "\(StoredValue.text($0.text))") }
        lines += (store.damages + store.diagnostics).map { ("remark", $0) }
        return lines.map { "\($0): \($1)\n" }.joined()
    }

    /// - Parameter time: in nanoseconds since 1970.
    private static func text(ofTime time: UInt64) -> String {
        Date(timeIntervalSince1970: Double(time) / 1e9).formatted(.iso8601)
    }

    /// Whether there is such an entity, if one is named; says so if there is none.
    private func hasEntity(_ store: StoreInspection, _ entity: String?) -> Bool {
        do throws(StoreInspection.UnknownName) {
            if let entity { try store.entity(named: entity) }
            return true
        } catch {
            errors("graphctl: \(error.reason)\n")
            return false
        }
    }

    /// Returns false if there is no such entity.
    private func dump(_ store: StoreInspection, _ format: Options.Format, _ entity: String?) -> Bool {
        guard hasEntity(store, entity) else { return false }
        store.forEachObject(of: entity) { object in
            switch format {
            case .jsonl: output(object.json + "\n")
            case .text:
                let values = object.values.map { "    \($0.property): \($0.value)\n" }
                output("\(object.entity) \(object.row), version \(object.version)\n" + values.joined())
            }
        }
        return true
    }

    /// Returns false if there is no such entity or relationship.
    private func export(
        _ store: StoreInspection, _ format: RowFormat, _ entity: String?, _ links: String?
    ) async throws(GraphError) -> Bool {
        let rows: ExportedRows
        do throws(StoreInspection.UnknownName) {
            rows = try store.exportedRows(of: entity, links: links, format)
        } catch {
            errors("graphctl: \(error.reason)\n")
            return false
        }
        var pieces = rows.makeAsyncIterator()
        // A piece ends with a line.
        while let piece = try await pieces.next() { output(String(decoding: piece, as: UTF8.self)) }
        return true
    }

    private func log(_ log: StoreLog, _ format: Options.Format) {
        if log.firstCommit > 0 {
            output(
                format == .text
                    ? "commits up to \(log.firstCommit) are not in the file any more\n"
                    : "{\"compacted\":\(log.firstCommit)}\n")
        }
        for commit in log.commits { print(commit, format) }
    }

    private func print(_ commit: StoreLog.Commit, _ format: Options.Format) {
        guard format == .text else { return output(commit.json + "\n") }
        let time = Self.text(ofTime: commit.time)
        let author = commit.author.isEmpty ? "" : ", by \(StoredValue.text(commit.author))"
        let changes = commit.changes.map { changes in
            let counts = [("+", changes.inserted), ("~", changes.updated), ("-", changes.deleted)]
            return ", \(changes.entity)" + counts.filter { $0.1 > 0 }.map { " \($0.0)\($0.1)" }.joined()
        }
        output("commit \(commit.number), \(time)\(author)\(changes.joined()), \(commit.bytes) bytes\n")
        for detail in commit.details ?? [] { output(Self.lines(of: detail).map { "    \($0)\n" }.joined()) }
    }

    /// Prints each commit when it is durable, until the program is interrupted or the task is cancelled.
    private func follow(_ commits: StoreFollowing, _ format: Options.Format) async throws(GraphError) {
        let following = Task { () -> GraphError? in
            do {
                for try await element in commits {
                    print(element, format)
                    flush()
                }
                return nil
            } catch {
                return error as? GraphError
            }
        }
        signal(SIGINT, SIG_IGN)
        let interruption = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        // On no actor: the queue runs it.
        interruption.setEventHandler { @Sendable in following.cancel() }
        interruption.activate()
        defer {
            interruption.cancel()
            signal(SIGINT, SIG_DFL)
        }
        let failure = await withTaskCancellationHandler {
            await following.value
        } onCancel: {
            following.cancel()
        }
        if let failure { throw failure }
    }

    private func print(_ element: StoreFollowing.Element, _ format: Options.Format) {
        switch element {
        case .commit(let commit): print(commit, format)
        case .missed(let commits):
            let isText = format == .text
            output(
                isText
                    ? "commits \(commits.lowerBound) to \(commits.upperBound) were compacted\n"
                    : "{\"compacted\":\(commits.upperBound)}\n")
        }
    }

    /// As a difference of two files prints them.
    private static func lines(of detail: StoreLog.Detail) -> [String] {
        switch detail {
        case .inserted(let object): ["+ \(object.entity) \(object.row) \(object.valuesJSON)"]
        case .deleted(let object): ["- \(object.entity) \(object.row) \(object.valuesJSON)"]
        case .updated(let object, let before):
            zip(object.values, before).map { new, old in
                "~ \(object.entity) \(object.row) \(new.property): \(old) → \(new.value)"
            }
        case .link(let relationship, let owner, let member, let isAdded):
            ["\(isAdded ? "+" : "-") link \(relationship): \(owner) to \(member)"]
        }
    }

    private func difference(from old: StoreInspection, to new: StoreInspection) -> Int32 {
        var isEqual = true
        func line(_ text: String) {
            isEqual = false
            output(text + "\n")
        }
        if old.storeID != new.storeID {
            errors("graphctl: the files belong to different stores, so equal row numbers may be different objects\n")
        }
        for change in old.schemaChanges(to: new) { line("schema: \(change)") }
        let names = old.objectCounts.map(\.entity)
        for name in names + new.objectCounts.map(\.entity).filter({ !names.contains($0) }) {
            var gone: [UInt64: StoreInspection.Object] = [:]
            old.forEachObject(of: name) { gone[$0.row] = $0 }
            new.forEachObject(of: name) { object in
                guard let before = gone.removeValue(forKey: object.row) else {
                    return line("+ \(name) \(object.row) \(object.valuesJSON)")
                }
                for change in object.changes(from: before) {
                    line("  \(name) \(object.row) \(change.property): \(change.old) → \(change.new)")
                }
            }
            for object in gone.values.sorted(by: { $0.row < $1.row }) {
                line("- \(name) \(object.row) \(object.valuesJSON)")
            }
        }
        return isEqual ? 0 : 3
    }
}

extension StoreInspection.Object {
    /// The properties whose values differ.
    fileprivate func changes(
        from old: StoreInspection.Object
    ) -> [(property: String, old: StoredValue, new: StoredValue)] {
        var before = Dictionary(uniqueKeysWithValues: old.values.map { ($0.property, $0.value) })
        let common = values.map {
            (property: $0.property, old: before.removeValue(forKey: $0.property) ?? .null, new: $0.value)
        }
        let gone = old.values.filter { before[$0.property] != nil }.map {
            (property: $0.property, old: $0.value, new: StoredValue.null)
        }
        return (common + gone).filter { $0.old != $0.new }
    }
}
