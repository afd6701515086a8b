/// What `--help` prints.
enum Help {
    /// The commands, how each is used, and what it does in a line.
    static let text = """
        usage: graphctl COMMAND [OPTIONS] FILE

        Looks into a Graph store, without the program that wrote it. All commands but compact only read the file, without its
        lock, so that a program may have it open: they show what was durable at one moment.

        \(commands.map { "  \($0.name.padded(to: 10))\($0.summary)\n" }.joined())
        graphctl COMMAND --help has the options of a command, its exit codes and an example.

        Remarks about a file go to standard error; those of verify and stat are part of their output. While a command reads or
        writes a large file, standard error shows how far it is, if it is a terminal.

        Exit codes: 0 the command is done; 1 the file is damaged, is no store, or cannot be read or written, or the output cannot
        be written; 2 the command line is wrong. diff and salvage have another one.

        """

    struct Command {
        let name: String
        let usage: String
        let summary: String
        /// What it does, in lines.
        let details: String
        var options: [(option: String, meaning: String)] = []
        let exitCodes: [(code: Int, meaning: String)]
        let example: String

        var text: String {
            var text = "usage: graphctl \(name) \(usage)\n\n\(details)\n\nOptions:\n"
            for (option, meaning) in options + [("--help, -h", "prints this text")] {
                text += "  \(option.padded(to: 22))\(meaning)\n"
            }
            text += "\nExit codes:\n"
            for (code, meaning) in exitCodes + [(2, "the command line is wrong")] { text += "  \(code)  \(meaning)\n" }
            return text + "\nExample:\n  \(example)\n"
        }
    }

    private static let format = (option: "--format text|jsonl", meaning: "lines of text, the default, or of JSON")
    private static let done = [
        (code: 0, meaning: "done"), (code: 1, meaning: "the file is damaged, is no store, or cannot be read"),
    ]

    static let commands = [
        Command(
            name: "verify", usage: "FILE", summary: "checks all of a file",
            details: """
                Reads all of the file, and checks each checksum, record, index, reference, unique value and count, and the lock
                file beside it.
                """,
            exitCodes: [(0, "the file is sound"), (1, "it is not, or cannot be read")],
            example: "graphctl verify photos.graph"),
        Command(
            name: "stat", usage: "FILE", summary: "prints the length of a file, and how much of what it has",
            details: """
                Prints the store's identifier, the number of the last commit, the lengths of the file, of what came after the last
                compaction and of the commits that this has retained, how far consumers have read history, the numbers of objects
                and links, and the texts that the program keeps with the store.
                """,
            exitCodes: done, example: "graphctl stat photos.graph"),
        Command(
            name: "schema", usage: "FILE", summary: "prints the entities and their properties",
            details: "Prints the entities and their properties, as the file has them.",
            exitCodes: done, example: "graphctl schema photos.graph > schema.txt"),
        Command(
            name: "dump", usage: "[--format text|jsonl] [--entity NAME] FILE", summary: "prints every object",
            details: """
                Prints every object with its row number, its version and its values. Relationships are row numbers. text has a line
                for each value; jsonl has a line of JSON for each object, in which bytes are Base64, dates are seconds since the
                beginning of 2001, and values of the program's own types are what they encode.
                """,
            options: [format, ("--entity NAME", "only the objects of this entity")],
            exitCodes: done + [(2, "the file has no such entity")],
            example: "graphctl dump --format jsonl --entity Photo photos.graph | head"),
        Command(
            name: "export", usage: "[--format jsonl|csv] [--entity NAME] [--links RELATIONSHIP] FILE",
            summary: "prints objects and links for an import",
            details: """
                Prints objects and links in the form that the library's importRows reads, with all that their values have: as JSON
                lines all of the file, or one entity's objects with their links; as CSV one entity's objects, or the links of one of
                its relationships.
                """,
            options: [
                ("--format jsonl|csv", "lines of JSON, the default, or CSV"),
                ("--entity NAME", "only the objects of this entity"),
                ("--links RELATIONSHIP", "instead, the links of a relationship of the entity"),
            ],
            exitCodes: done + [(2, "the file has no such entity or relationship")],
            example: "graphctl export --format csv --entity Photo photos.graph > photos.csv"),
        Command(
            name: "import", usage: "[OPTIONS] FILE [ROWS...] --output NEW",
            summary: "writes a file and what is imported into a new one",
            details: """
                Writes what FILE has, without its history, and the objects and links of other files into a new file: all of them, or
                there is no new file. ROWS are lines of JSON, as export prints them. These files may refer to each other, and not to
                objects of FILE. The new objects get identifiers of their own, unless FILE has never had an object. FILE is not
                changed; what a program saves there meanwhile is not in NEW.

                The schema's rules hold, as in any save. The command does not know what only the program says: validate(), willSave(),
                defaults of properties, what becomes of an object whose unique value another one has, and which values its own types
                read. Values of these must be as export prints those that today's version of Graph has written. So open NEW with the
                program before it takes the place of FILE. An import by the program itself is better, where there is one; a store
                that several programs have written through a log takes no other.
                """,
            options: [
                ("--output NEW", "the new file, of which nothing may have the name"),
                ("--csv ENTITY=ROWS", "imports CSV with objects of an entity, or with links of theirs"),
                (
                    "--on-conflict POLICY",
                    "for unique values: reject, the default, upsert, replace or keepExisting"
                ),
                ("--ignore-unknown", "leaves out references and links to objects that none of these files has"),
            ],
            exitCodes: [
                (0, "the new file is written"),
                (1, "there is none: a file cannot be read, the rules refuse an object, or NEW cannot be written"),
                (2, "the file has no such entity"),
            ],
            example: "graphctl import photos.graph more.jsonl --csv Tag=tags.csv --output bigger.graph"),
        Command(
            name: "log", usage: "[--format text|jsonl] [--changes] FILE",
            summary: "prints the commits that the file has",
            details: """
                Prints each commit that the file has, those that the last compaction has retained among them: number, time, author,
                how many objects of each entity it inserted (+), changed (~) and deleted (-), and the length of its record. In
                jsonl the time is in nanoseconds since 1970, and "token" is the text of the program's HistoryToken. If the first
                commits are not in the file any more, the first line names the last one of these.

                With --changes, lines with each object follow, by entity and row number: the values of an inserted or deleted
                object, and of a changed one the values that changed, before and after. Members of relationships are not listed
                where they follow from references of other objects. In jsonl the commit has them as "objects". The command keeps
                all changes in memory until it prints them.
                """,
            options: [format, ("--changes", "the objects and links that each commit changed, with their values")],
            exitCodes: done, example: "graphctl log --changes photos.graph"),
        Command(
            name: "follow", usage: "[--format text|jsonl] [--changes] FILE",
            summary: "prints commits while a program makes them",
            details: """
                Prints each commit that a program makes from now on, as log does, as soon as it is durable, until you stop the
                command. The program may compact the file, end, and open it again. Commits that were compacted before they could
                be read have one line.
                """,
            options: [format, ("--changes", "the objects and links that each commit changed, with their values")],
            exitCodes: [
                (0, "it was interrupted, as by Control-C"),
                (1, "the file is damaged, is no store, was removed or replaced, or cannot be read"),
            ],
            example: "graphctl follow --format jsonl photos.graph"),
        Command(
            name: "diff", usage: "OLD NEW", summary: "prints how two files differ",
            details: """
                Prints how the schemas of two files differ, the objects that only one has (- OLD, + NEW), and those that differ,
                with their values. A property that only one schema has is null in the other file.
                """,
            exitCodes: [
                (0, "nothing differs"), (1, "a file is damaged, is no store, or cannot be read"),
                (3, "the files differ"),
            ],
            example: "graphctl diff backup.graph photos.graph"),
        Command(
            name: "compact", usage: "[--without-history] FILE",
            summary: "writes a file anew, without room for what is no longer needed",
            details: """
                Writes the file anew, with the commits that it has, so that it opens fast, after the repairs that any opening does.
                No program may have it open. Values of the program's own types stay as they are encoded.
                """,
            options: [
                ("--without-history", "retains no commits: what was deleted or replaced is not in the file any more")
            ],
            exitCodes: [(0, "the file is compacted"), (1, "it is open, damaged or no store, or cannot be written")],
            example: "graphctl compact photos.graph"),
        Command(
            name: "salvage", usage: "FILE --output NEW",
            summary: "writes what can still be read of a damaged file into a new one",
            details: """
                Writes what can still be read of a damaged file into a new file, without its history, which keeps all rules of the
                schema, and lists what is lost. The damaged file is not changed. No program should have it open.
                """,
            options: [("--output NEW", "the new file, of which nothing may have the name")],
            exitCodes: [
                (0, "the new file has all objects and links that the file had"), (1, "there is no new file"),
                (4, "the new file lacks what is listed"),
            ],
            example: "graphctl salvage photos.graph --output salvaged.graph"),
    ]
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - count, 1)) }
}
