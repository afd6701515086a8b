import Graph

/// What the command line asks for.
struct Options: Equatable {
    enum Format: String {
        case text
        case jsonl
    }

    enum Command: Equatable {
        case verify
        case stat
        case schema
        case dump(Format, entity: String?)
        /// With the objects that each commit changed, or without.
        case log(Format, hasChanges: Bool)
        /// As a log, of the commits that a program makes from now on.
        case follow(Format, hasChanges: Bool)
        /// To this file.
        case diff(String)
        /// With all the history that the file has, or without any.
        case compact(hasHistory: Bool)
        /// Of all entities, or of one, or of a relationship of that.
        case export(RowFormat, entity: String?, links: String?)
        /// Of files, into a new one.
        case importing(Import)
        /// Into this file.
        case salvage(output: String)
    }

    struct Import: Equatable {
        var sources: [StoreImport.Source] = []
        var output = ""
        var onConflict: UniquenessPolicy?
        var ignoresUnknown = false
    }

    /// A command line that cannot be followed.
    struct Invalid: Error, Equatable {
        let message: String
    }

    private static let policies: [String: UniquenessPolicy] = [
        "reject": .reject, "upsert": .upsert, "replace": .replace, "keepExisting": .keepExisting,
    ]

    let command: Command
    let file: String

    init(_ arguments: [String]) throws(Invalid) {
        let name = arguments.first ?? ""
        var (format, entity, newFile, files): (Format, String?, String?, [String]) = (.text, nil, nil, [])
        var (hasChanges, hasHistory) = (false, true)
        var (rows, links): (RowFormat, String?) = (.jsonLines, nil)
        var imported = Import()
        func take(_ file: String) {
            let isSource = name == "import" && !files.isEmpty
            if isSource { imported.sources.append(StoreImport.Source(file)) } else { files.append(file) }
        }
        var rest = arguments.dropFirst()
        while var argument = rest.popFirst() {
            if argument.hasPrefix("--"), let sign = argument.firstIndex(of: "=") {
                rest.insert(String(argument[argument.index(after: sign)...]), at: rest.startIndex)
                argument = String(argument[..<sign])
            }
            switch argument {
            case "--format" where ["dump", "log", "follow"].contains(name):
                guard let value = rest.popFirst().flatMap(Format.init) else {
                    throw Invalid(message: "--format is text or jsonl")
                }
                format = value
            case "--format" where name == "export":
                guard let value = rest.popFirst(), let format = ["jsonl": RowFormat.jsonLines, "csv": .csv][value]
                else {
                    throw Invalid(message: "--format is jsonl or csv")
                }
                rows = format
            case "--links" where name == "export":
                guard let value = rest.popFirst() else { throw Invalid(message: "--links needs a relationship") }
                links = value
            case "--csv" where name == "import":
                guard let value = rest.popFirst(), let sign = value.firstIndex(of: "="), sign != value.startIndex else {
                    throw Invalid(message: "--csv needs an entity and a file, as in --csv Photo=photos.csv")
                }
                let path = String(value[value.index(after: sign)...])
                imported.sources.append(StoreImport.Source(path, csvOf: String(value[..<sign])))
            case "--on-conflict" where name == "import":
                guard let value = rest.popFirst(), let policy = Self.policies[value] else {
                    throw Invalid(message: "--on-conflict is \(Self.policies.keys.sorted().joined(separator: ", "))")
                }
                imported.onConflict = policy
            case "--ignore-unknown" where name == "import": imported.ignoresUnknown = true
            case "--entity" where name == "dump" || name == "export":
                guard let value = rest.popFirst() else { throw Invalid(message: "--entity needs a name") }
                entity = value
            case "--changes" where name == "log" || name == "follow": hasChanges = true
            case "--without-history" where name == "compact": hasHistory = false
            case "--output" where name == "salvage" || name == "import":
                guard let value = rest.popFirst() else { throw Invalid(message: "--output needs a file") }
                newFile = value
            case "--":
                for argument in rest { take(argument) }
                rest = []
            case _ where argument.hasPrefix("-") && argument != "-":
                throw Invalid(message: "\(name) has no option \(argument)")
            default: take(argument)
            }
        }
        switch name {
        case "verify": command = .verify
        case "stat": command = .stat
        case "schema": command = .schema
        case "dump": command = .dump(format, entity: entity)
        case "log": command = .log(format, hasChanges: hasChanges)
        case "follow": command = .follow(format, hasChanges: hasChanges)
        case "diff" where files.count == 2: command = .diff(files.removeLast())
        case "diff": throw Invalid(message: "diff takes two files, not \(files.count)")
        case "compact": command = .compact(hasHistory: hasHistory)
        case "export":
            guard links == nil || rows == .csv else { throw Invalid(message: "--links is for csv") }
            guard entity != nil || rows == .jsonLines else { throw Invalid(message: "csv needs --entity") }
            command = .export(rows, entity: entity, links: links)
        case "import":
            guard let newFile else { throw Invalid(message: "import needs --output and the name of a new file") }
            guard !imported.sources.isEmpty else { throw Invalid(message: "import needs something to import") }
            imported.output = newFile
            command = .importing(imported)
        case "salvage":
            guard let newFile else { throw Invalid(message: "salvage needs --output and the name of a new file") }
            command = .salvage(output: newFile)
        default: throw Invalid(message: "there is no command '\(name)'")
        }
        guard files.count == 1 else { throw Invalid(message: "\(name) takes one file, not \(files.count)") }
        file = files[0]
    }
}
