extension SQLitePackagePeer {
    /// Inserts everything, in the transactions of the data. The records of packages come from `record`, if it is given.
    func load(_ index: PackageIndex, record: ((Int) -> PackageRecord)? = nil) throws {
        let writer = try SQLitePackageWriter(self)
        try transaction {
            for (number, name) in index.sections.enumerated() {
                try writer.insert(named: name, id: number + 1, by: writer.section)
            }
            for (number, name) in index.tags.enumerated() {
                try writer.insert(named: name, id: number + 1, by: writer.tag)
            }
            for (number, maintainer) in index.maintainers.enumerated() {
                try writer.maintainer.binding(maintainer.email, at: 3) {
                    try writer.insert(named: maintainer.name, id: number + 1, by: writer.maintainer)
                }
            }
        }
        for batch in index.batches {
            try transaction {
                for number in batch { try writer.insert(record?(number) ?? index.packages[number], id: number + 1) }
            }
        }
    }

    /// Brings the database up to date, in the transactions of a load.
    func upsert(_ update: PackageUpdate, by writer: SQLitePackageWriter) throws {
        for batch in update.index.batches {
            try transaction {
                for number in batch {
                    let record = update.index.packages[number]
                    if update.new.contains(number) {
                        try writer.insert(record, id: number + 1)
                    } else {
                        try writer.upsert(record, id: number + 1, isChanged: update.isChanged[number])
                    }
                }
            }
        }
    }
}
