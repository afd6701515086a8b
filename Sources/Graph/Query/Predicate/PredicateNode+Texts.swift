// swift-format-ignore-file: AlwaysUseLowerCamelCase
// `#Predicate` gives the builders their names.

#if canImport(FoundationEssentials)
    @_spi(_Unicode) import Swift
    public import FoundationEssentials

    // `#Predicate` knows `localizedStandardContains` and `caseInsensitiveCompare`, for which FoundationEssentials has no nodes.

    extension PredicateExpressions {
        /// Whether a text contains another one, whatever the case and the accents of both. `#Predicate` makes it.
        public struct LocalizedStandardContains<Text: PredicateExpression, Other: PredicateExpression>:
            PredicateExpression
        where Text.Output == String, Other.Output == String {
            let text: Text
            let other: Other

            /// Whether it does.
            ///
            /// Complexity: O(length of the texts).
            public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
                try text.evaluate(bindings).containsFolded(other.evaluate(bindings))
            }
        }

        /// How two texts compare, whatever their case. `#Predicate` makes it.
        public struct CaseInsensitiveCompare<Text: PredicateExpression, Other: PredicateExpression>: PredicateExpression
        where Text.Output == String, Other.Output == String {
            let text: Text
            let other: Other

            /// How they compare.
            ///
            /// Complexity: O(length of the texts).
            public func evaluate(_ bindings: PredicateBindings) throws -> ComparisonResult {
                try text.evaluate(bindings).compareFolded(other.evaluate(bindings))
            }
        }

        /// For `#Predicate`.
        ///
        /// Complexity: O(1).
        public static func build_localizedStandardContains<Text, Other>(
            _ text: Text, _ other: Other
        ) -> LocalizedStandardContains<Text, Other> {
            LocalizedStandardContains(text: text, other: other)
        }

        /// For `#Predicate`.
        ///
        /// Complexity: O(1).
        public static func build_caseInsensitiveCompare<Text, Other>(
            _ text: Text, _ other: Other
        ) -> CaseInsensitiveCompare<Text, Other> {
            CaseInsensitiveCompare(text: text, other: other)
        }
    }

    extension PredicateExpressions.LocalizedStandardContains: PredicateNode
    where Text: PredicateNode, Other: PredicateNode {
        func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
            try text.term(compiler).combined(with: other.term(compiler)) { $0.containsFolded($1) }
        }
    }

    extension PredicateExpressions.CaseInsensitiveCompare: PredicateNode
    where Text: PredicateNode, Other: PredicateNode {
        func term(_ compiler: PredicateCompiler) throws -> Term<ComparisonResult> {
            try text.term(compiler).combined(with: other.term(compiler)) { $0.compareFolded($1) }
        }
    }

    extension String {
        /// Full case folding, nearly: upper case first has "ß" and "SS" alike.
        private var foldingCase: String { uppercased().lowercased() }

        fileprivate func containsFolded(_ other: String) -> Bool {
            func folded(_ text: String) -> String {
                var scalars = String.UnicodeScalarView()
                for scalar in text.foldingCase._nfd where scalar.properties.generalCategory != .nonspacingMark {
                    scalars.append(scalar)
                }
                return String(scalars)
            }
            let other = folded(other)
            return !other.isEmpty && folded(self).contains(other)
        }

        fileprivate func compareFolded(_ other: String) -> ComparisonResult {
            let (left, right) = (foldingCase, other.foldingCase)
            return left == right
                ? .orderedSame : NormalForm.precedes(left, right) ? .orderedAscending : .orderedDescending
        }
    }

    // What `#Predicate` asks of every node.

    extension PredicateExpressions.LocalizedStandardContains: Sendable where Text: Sendable, Other: Sendable {}
    extension PredicateExpressions.LocalizedStandardContains: Codable where Text: Codable, Other: Codable {}
    extension PredicateExpressions.LocalizedStandardContains: StandardPredicateExpression
    where Text: StandardPredicateExpression, Other: StandardPredicateExpression {}
    extension PredicateExpressions.CaseInsensitiveCompare: Sendable where Text: Sendable, Other: Sendable {}
    extension PredicateExpressions.CaseInsensitiveCompare: Codable where Text: Codable, Other: Codable {}
    extension PredicateExpressions.CaseInsensitiveCompare: StandardPredicateExpression
    where Text: StandardPredicateExpression, Other: StandardPredicateExpression {}
#else
    import Foundation

    extension PredicateExpressions.StringLocalizedStandardContains: PredicateNode
    where Root: PredicateNode, Other: PredicateNode {
        func term(_ compiler: PredicateCompiler) throws -> Term<Bool> {
            try root.term(compiler).combined(with: other.term(compiler)) { $0.localizedStandardContains($1) }
        }
    }

    extension PredicateExpressions.StringCaseInsensitiveCompare: PredicateNode
    where Root: PredicateNode, Other: PredicateNode {
        func term(_ compiler: PredicateCompiler) throws -> Term<ComparisonResult> {
            try root.term(compiler).combined(with: other.term(compiler)) { $0.caseInsensitiveCompare($1) }
        }
    }
#endif
