/// Answers the compiler, one message after another.
struct MacroPlugin {
    /// The version of the plugin protocol that this program speaks: that of the compilers since Swift 5.10.
    static let protocolVersion = 7
    /// The first version that takes one form of answer for all macros.
    private static let oldestHostVersion = 5

    /// What the compiler said it speaks; it need not say.
    private var hostVersion: Int?

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
                range: source.fileOffset + problem.range.lowerBound..<source.fileOffset + problem.range.upperBound
            )
        }
        return .expansion(source: expansion.source, diagnostics)
    }

    private func failure(_ message: String, at place: SourceText) -> PluginResponse {
        let host = hostVersion.map { "version \($0)" } ?? "an unknown version"
        let diagnostic = PluginResponse.Diagnostic(
            message: "\(message): it speaks \(host) of the plugin protocol, Graph version \(Self.protocolVersion)",
            fileName: place.fileName,
            range: place.fileOffset..<place.fileOffset
        )
        return .expansion(source: nil, [diagnostic])
    }
}
