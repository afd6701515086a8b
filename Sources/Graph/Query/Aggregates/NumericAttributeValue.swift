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
    let offset: Int

    @inline(__always)
    fileprivate func visit(_ body: (Value) -> Void) {
        for row in rows { body((row + offset).assumingMemoryBound(to: Value.self).pointee) }
    }
}

/// What has been added up so far. For Graph's own use.
public struct NumericTotal: Sendable {
    fileprivate var count = 0
    fileprivate var integer: Int128 = 0
    fileprivate var floatingPoint = 0.0
    fileprivate var decimal = Decimal()

    init() {}
}

extension NumericAttributeValue where Self: FixedWidthInteger, Sum: FixedWidthInteger {
    /// For Graph's own use.
    ///
    /// Complexity: O(*n*) for *n* values.
    public static func add(_ values: AttributeColumn<Self>, to total: inout NumericTotal) {
        var sum: Int128 = 0
        values.visit { sum += Int128($0) }
        total.integer += sum
        total.count += values.rows.count
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Sum? { Sum(exactly: total.integer) }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Double? {
        total.count == 0 ? nil : Double(total.integer) / Double(total.count)
    }
}

extension NumericAttributeValue where Self: BinaryFloatingPoint {
    /// For Graph's own use.
    ///
    /// Complexity: O(*n*) for *n* values.
    public static func add(_ values: AttributeColumn<Self>, to total: inout NumericTotal) {
        var sum = total.floatingPoint
        values.visit { sum += Double($0) }
        total.floatingPoint = sum
        total.count += values.rows.count
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Double? { total.floatingPoint }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Double? {
        total.count == 0 ? nil : total.floatingPoint / Double(total.count)
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
        values.visit { total.decimal += $0 }
        total.count += values.rows.count
    }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func sum(of total: NumericTotal) -> Decimal? { total.decimal }

    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func average(of total: NumericTotal) -> Decimal? {
        total.count == 0 ? nil : total.decimal / Decimal(total.count)
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
        let rows = values.rows.filter { ($0 + values.offset).assumingMemoryBound(to: Wrapped?.self).pointee != nil }
        rows.withUnsafeBufferPointer { Wrapped.add(AttributeColumn(rows: $0, offset: values.offset), to: &total) }
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
