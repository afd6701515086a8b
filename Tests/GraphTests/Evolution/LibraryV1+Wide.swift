import Foundation
import Graph

extension LibraryV1 {
    /// Every kind of attribute, with and without nil.
    @Entity struct Wide {
        var int: Int
        var int8: Int8
        var int16: Int16
        var int32: Int32
        var int64: Int64
        var int128: Int128
        var uint: UInt
        var uint8: UInt8
        var uint16: UInt16
        var uint32: UInt32
        var uint64: UInt64
        var uint128: UInt128
        var bool: Bool
        var float: Float
        var double: Double
        var string: String
        var date: Date
        var uuid: UUID
        var data: Data
        var bytes: [UInt8]
        var url: URL
        var decimal: Decimal
        var role: Role
        var rank: Rank
        var address: Address
        var contact: Contact
        var ints: [Int]
        var texts: [String]
        var lists: [[Double]]
        var gaps: [Int16?]
        var set: Set<UInt16>
        var dictionary: [String: Date]
        var dates: [UUID: [Bool]]
        var codables: [Address]
        var optionalInt: Int?
        var optionalInt8: Int8?
        var optionalInt16: Int16?
        var optionalInt32: Int32?
        var optionalInt64: Int64?
        var optionalInt128: Int128?
        var optionalUInt: UInt?
        var optionalUInt8: UInt8?
        var optionalUInt16: UInt16?
        var optionalUInt32: UInt32?
        var optionalUInt64: UInt64?
        var optionalUInt128: UInt128?
        var optionalBool: Bool?
        var optionalFloat: Float?
        var optionalDouble: Double?
        var optionalString: String?
        var optionalDate: Date?
        var optionalUUID: UUID?
        var optionalData: Data?
        var optionalBytes: [UInt8]?
        var optionalURL: URL?
        var optionalDecimal: Decimal?
        var optionalRole: Role?
        var optionalRank: Rank?
        var optionalAddress: Address?
        var optionalContact: Contact?
        var optionalInts: [Int]?
        var optionalSet: Set<String>?
        var optionalDictionary: [Int: String]?
    }
}
