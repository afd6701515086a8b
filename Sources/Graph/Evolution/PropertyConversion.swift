/// How a property of the program is initialised from rows of the file.
struct PropertyConversion: Sendable {
    struct Failure: Error {
        let reason: String
    }

    /// Where rows are, and where they go to.
    struct Rows {
        /// Of place 0; the others follow at the stride.
        let old: UnsafeRawPointer
        let oldStride: Int
        let new: UnsafeMutableRawPointer
        let newStride: Int
    }

    /// What the new values lack.
    struct Losses: OptionSet {
        let rawValue: UInt8

        /// The default has replaced a null that the type does not read.
        static let null = Losses(rawValue: 1)
        /// Parts that the type does not read.
        static let parts = Losses(rawValue: 2)
    }

    /// From the old row to the new one, whose memory at the property's offset is not initialised before.
    private typealias Run = @Sendable (UnsafeRawPointer, UnsafeMutableRawPointer) throws -> Losses

    let property: Property
    private let run: Run

    /// Initialises the property of the rows at some places, and calls a closure with those whose memory stays as it is, since the
    /// value has no counterpart.
    ///
    /// One column of a leaf at a time, so that the closure is retained once for 32 rows: threads that count the same references
    /// hold each other up.
    func run(_ rows: Rows, _ places: UInt32, _ fail: (_ place: Int, _ reason: String) -> Void) -> Losses {
        var losses: Losses = []
        let run = run
        places.forEachBit { place in
            do {
                losses.formUnion(try run(rows.old + place * rows.oldStride, rows.new + place * rows.newStride))
            } catch {
                fail(place, (error as? Failure)?.reason ?? "\(error)")
            }
        }
        return losses
    }

    init(_ property: Property, _ source: SchemaComparison.Source, from old: EntityDescription, isStep: Bool) {
        self.property = property
        switch source {
        case .attribute(let number, nil):
            run = Self.copy(old.properties[number], to: property)
        case .attribute(let number, let conversion?):
            run = Self.convert(old.properties[number], to: property, conversion, isStep: isStep)
        case .relationship(let number) where property.isStored:
            run = Self.copyReference(old.properties[number], to: property)
        case .relationship, .nowhere:
            let initialize = Self.initializing(property)
            run = { _, new in
                try initialize(new)
                return []
            }
        }
    }

    private static func copy(_ old: Property, to property: Property) -> Run {
        let (copy, offset, oldOffset) = (property.operations.copy, property.offset, old.offset)
        return { row, new in
            copy(new + offset, row + oldOffset)
            return []
        }
    }

    private static func convert(
        _ old: Property, to property: Property, _ conversion: ValueConversion, isStep: Bool
    ) -> Run {
        let initialize = initializing(property)
        return { row, new in
            guard let bytes = try encoded(old, row, conversion) else {
                guard isStep || property.initializeDefault != nil else {
                    throw Failure(reason: "is nil, and there is no default")
                }
                try initialize(new)
                return []
            }
            do {
                return try decode(bytes, as: property, new) ? .parts : []
            } catch let failure as Failure {
                let isNull = property.replacesNull && EncodedValue.isNull(bytes)
                guard isStep || isNull else { throw failure }
                try initialize(new)
                return isNull ? .null : []
            }
        }
    }

    /// The new encoding of an old value; nil for nil where there is none any more.
    private static func encoded(
        _ old: Property, _ row: UnsafeRawPointer, _ conversion: ValueConversion
    ) throws -> [UInt8]? {
        var (encoded, converted) = (ByteWriter(), ByteWriter())
        try old.operations.encode(row + old.offset, &encoded)
        let isValue = try encoded.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            do {
                return try conversion.run(&reader, &converted)
            } catch let failure as ValueConversion.Failure {
                throw Failure(reason: failure.reason)
            }
        }
        return isValue ? converted.bytes : nil
    }

    /// A to-one relationship comes from a to-one relationship, and both are row numbers.
    private static func copyReference(_ old: Property, to property: Property) -> Run {
        let (offset, oldOffset) = (property.offset, old.offset)
        return { row, new in
            (new + offset).storeBytes(of: (row + oldOffset).load(as: RowNumber.self), as: RowNumber.self)
            return []
        }
    }

    /// The encoding of what a row gets in a property that it did not have.
    static func addedValue(of property: Property) throws -> [UInt8] {
        let (size, alignment) = (max(property.offset + property.sizeBytes, 1), max(property.alignment, 16))
        return try withUnsafeTemporaryAllocation(byteCount: size, alignment: alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let row = memory.baseAddress.unsafelyUnwrapped
            try initializing(property)(row)
            defer { property.operations.deinitialize(row + property.offset) }
            var writer = ByteWriter()
            try property.operations.encode(row + property.offset, &writer)
            return writer.bytes
        }
    }

    /// A closure that writes the default or, without one, zero, nil or what is empty: a step of a plan replaces it, or the file has
    /// no such values.
    private static func initializing(_ property: Property) -> @Sendable (UnsafeMutableRawPointer) throws -> Void {
        let offset = property.offset
        if let initializeDefault = property.initializeDefault { return { initializeDefault($0 + offset) } }
        let nothing = nothing(of: property)
        return { _ = try decode(nothing, as: property, $0) }
    }

    /// The encoding of nil, no object, zero, or what is empty. Types of a program's own may have nothing of the sort.
    private static func nothing(of property: Property) -> [UInt8] {
        // As many zeros as a value without a length takes at most.
        property.isNullable ? StoredForm.null : [UInt8](repeating: 0, count: 16)
    }

    /// Returns whether there are parts that the type does not read.
    private static func decode(_ bytes: [UInt8], as property: Property, _ new: UnsafeMutableRawPointer) throws -> Bool {
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            do {
                try property.operations.decode(&reader, new + property.offset)
                return reader.hasUnreadParts
            } catch let error as UnreadableValue {
                throw Failure(reason: "cannot be read as \(error.type.shortened(to: 200)): \(error.reason)")
            } catch let error as ByteReader.Failure {
                throw Failure(reason: error.reason)
            }
        }
    }
}
