#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A type whose values can be added up: the integers, `Float`, `Double`, `Decimal`, and optionals of these, whose nil does not
/// count.
///
/// Sums of integers are exact as long as the result fits, in whatever order. Floating-point values are added in insertion order.
public protocol NumericAttributeValue: OrderedAttributeValue {
    /// The sum's type: `Int` for integers of fewer bits, `Double` for `Float`, otherwise the type itself.
    associatedtype Sum: Sendable
    /// The average's type: `Decimal` for `Decimal`, otherwise `Double`.
    associatedtype Average: Sendable
    /// For Graph's own use.
    static func add(_ values: AttributeColumn<Self>, to total: inout NumericTotal)
    /// The sum; nil if it does not fit. For Graph's own use.
    static func sum(of total: NumericTotal) -> Sum?
    /// The average; nil of no values. For Graph's own use.
    static func average(of total: NumericTotal) -> Average?
}

/// Values of a property in some rows. For Graph's own use.
public struct AttributeColumn<Value> {
    let rows: UnsafeBufferPointer<UnsafeRawPointer>
    /// The group of each row; nil where all are of one.
    var groups: UnsafeBufferPointer<UInt32>?
    let offset: Int

    /// Adds each value to the part of its group.
    @inline(__always)
    fileprivate func add(to total: inout NumericTotal, _ body: (inout NumericTotal.Part, Value) -> Void) {
        total.parts.withUnsafeMutableBufferPointer { parts in
            if let groups {
                for (row, group) in zip(rows, groups) {
                    parts[Int(group)].count += 1
                    body(&parts[Int(group)], value(row))
                }
            } else {
                var part = parts[0]
                part.count += rows.count
                for row in rows { body(&part, value(row)) }
                parts[0] = part
            }
        }
    }

    @inline(__always)
    private func value(_ row: UnsafeRawPointer) -> Value {
        (row + offset).assumingMemoryBound(to: Value.self).pointee
    }
}

/// What has been added up so far. For Graph's own use.
public struct NumericTotal: Sendable {
    fileprivate struct Part: Sendable {
        var count = 0
        var integer: Int128 = 0
        var floatingPoint = 0.0
        var decimal = Decimal()
    }

    fileprivate var parts: [Part]

    init(groups: Int = 1) {
        parts = Array(repeating: Part(), count: groups)
    }

    /// That of one group.
    subscript(group: Int) -> NumericTotal {
        var total = NumericTotal()
        total.parts[0] = parts[group]
        return total
    }
}

extension NumericAttributeValue where Self: FixedWidthInteger, Sum: FixedWidthInteger {
    /// For Graph's own use.
    ///
    /// Complexity: O(*n*) for *n* values.
    public static func add(_ values: AttributeColumn<Self>, to total: inout NumericTotal) {
        values.add(to: &total) { $0.integer += Int128($1) }
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Sum? { Sum(exactly: total.parts[0].integer) }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Double? {
        let part = total.parts[0]
        return part.count == 0 ? nil : Double(part.integer) / Double(part.count)
    }
}

extension NumericAttributeValue where Self: BinaryFloatingPoint {
    /// For Graph's own use.
    ///
    /// Complexity: O(*n*) for *n* values.
    public static func add(_ values: AttributeColumn<Self>, to total: inout NumericTotal) {
        values.add(to: &total) { $0.floatingPoint += Double($1) }
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Double? { total.parts[0].floatingPoint }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Double? {
        let part = total.parts[0]
        return part.count == 0 ? nil : part.floatingPoint / Double(part.count)
    }
}

extension Int: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension Int8: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension Int16: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension Int32: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension Int64: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int64
}

extension UInt: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = UInt
}

extension UInt8: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension UInt16: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension UInt32: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Int
}

extension UInt64: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = UInt64
}

extension Float: NumericAttributeValue {}
extension Double: NumericAttributeValue {}

extension Decimal: NumericAttributeValue {
    /// For Graph's own use.
    ///
    /// Complexity: O(*n*) for *n* values.
    public static func add(_ values: AttributeColumn<Decimal>, to total: inout NumericTotal) {
        values.add(to: &total) { $0.decimal += $1 }
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Decimal? { total.parts[0].decimal }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Decimal? {
        let part = total.parts[0]
        return part.count == 0 ? nil : part.decimal / Decimal(part.count)
    }
}

extension Optional: NumericAttributeValue where Wrapped: NumericAttributeValue {
    /// For Graph's own use.
    public typealias Sum = Wrapped.Sum
    /// For Graph's own use.
    public typealias Average = Wrapped.Average

    /// For Graph's own use.
    ///
    /// Complexity: O(*n*) for *n* values.
    public static func add(_ values: AttributeColumn<Wrapped?>, to total: inout NumericTotal) {
        // An optional that is not nil begins with the value.
        let places = values.rows.indices.filter {
            (values.rows[$0] + values.offset).assumingMemoryBound(to: Wrapped?.self).pointee != nil
        }
        places.map { values.rows[$0] }.withUnsafeBufferPointer { rows in
            var column = AttributeColumn<Wrapped>(rows: rows, offset: values.offset)
            guard let groups = values.groups else { return Wrapped.add(column, to: &total) }
            places.map { groups[$0] }.withUnsafeBufferPointer {
                column.groups = $0
                Wrapped.add(column, to: &total)
            }
        }
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Wrapped.Sum? { Wrapped.sum(of: total) }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Wrapped.Average? { Wrapped.average(of: total) }
}
