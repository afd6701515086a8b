/// Answers the compiler, one message after another.
package struct MacroPlugin {
    /// The version of the plugin protocol that this program speaks: that of the compilers since Swift 5.10.
    static let protocolVersion = 7
    /// The first version that takes one form of answer for all macros.
    private static let oldestHostVersion = 5

    /// What the compiler said it speaks; it need not say.
    private var hostVersion: Int?

    /// Answers until there are no more messages. A compiler that cannot be understood gets one line on standard error, and
    /// the program ends.
    package static func run(input: Int32, output: Int32) {
        let connection = PluginConnection(input: input, output: output)
        var plugin = MacroPlugin()
        do throws(PluginConnection.Failure) {
            while let message = try connection.receive() {
                try connection.send(plugin.answer(message))
            }
        } catch {
            fail(error.description)
        }
    }

    mutating func answer(_ request: PluginRequest) -> PluginResponse {
        switch request {
        case .getCapability(let version):
            hostVersion = version
            return .capability(protocolVersion: Self.protocolVersion)
        case .expandAttachedMacro(let request):
            if let hostVersion, hostVersion < Self.oldestHostVersion {
                return failure("this compiler is too old for Graph's macros", at: request.attribute)
            }
            return Self.response(to: request)
        case .unknown(let name):
            return failure("Graph's macros cannot read this compiler's message '\(name)'", at: SourceText(""))
        }
    }

    private static func response(to request: ExpansionRequest) -> PluginResponse {
        let expansion = Expansion(of: request)
        let source = expansion.concernsAttribute ? request.attribute : request.declaration
        let diagnostics = expansion.problems.map { problem in
            PluginResponse.Diagnostic(
                message: problem.message,
                fileName: source.fileName,
                range: source.fileOffset + problem.range.lowerBound..<source.fileOffset + problem.range.upperBound,
                isWarning: problem.isWarning
            )
        }
        return .expansion(source: expansion.source, diagnostics)
    }

    private func failure(_ message: String, at place: SourceText) -> PluginResponse {
        let host = hostVersion.map { "version \($0)" } ?? "an unknown version"
        // What comes before the attribute belongs to its source.
        let start = place.fileOffset + (place.bytes.firstIndex(of: UInt8(ascii: "@")) ?? 0)
        let diagnostic = PluginResponse.Diagnostic(
            message: "\(message): it speaks \(host) of the plugin protocol, Graph version \(Self.protocolVersion)",
            fileName: place.fileName,
            range: start..<start
        )
        return .expansion(source: nil, [diagnostic])
    }
}
