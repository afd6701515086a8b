/// What the compiler says in its plugin protocol: an object with one member, named after the message. The names of messages
/// and fields are the compiler's; what is not used here is not read.
enum PluginRequest: Sendable {
    case getCapability(hostVersion: Int)
    case expandAttachedMacro(ExpansionRequest)
    /// A message that this program does not know, or that lacks something.
    case unknown(name: String)

    init(_ message: JSON) {
        guard case .object(let members) = message, let (name, content) = members.first else {
            self = .unknown(name: "")
            return
        }
        switch name {
        case "getCapability":
            self = .getCapability(hostVersion: content["capability"]?["protocolVersion"]?.number ?? 0)
        case "expandAttachedMacro":
            self = ExpansionRequest(content).map { .expandAttachedMacro($0) } ?? .unknown(name: name)
        default:
            self = .unknown(name: name)
        }
    }
}

extension ExpansionRequest {
    init?(_ message: JSON) {
        guard let macro = message["macro"]?["typeName"]?.string,
            let attribute = SourceText(message["attributeSyntax"]),
            let declaration = SourceText(message["declSyntax"])
        else { return nil }
        self.init(
            macro: macro,
            role: message["macroRole"]?.string ?? "",
            attribute: attribute,
            declaration: declaration,
            extendedType: message["extendedTypeSyntax"]?["source"]?.string,
            // A declaration that inherits what the type does not conform to yet.
            addsConformance: message["conformanceListSyntax"]?["source"]?.string?.contains(":") ?? false,
            lexicalContext: (message["lexicalContext"]?.array ?? []).compactMap { SourceText($0) }
        )
    }
}

extension SourceText {
    init?(_ syntax: JSON?) {
        guard let source = syntax?["source"]?.string, let location = syntax?["location"],
            let fileName = location["fileName"]?.string, let offset = location["offset"]?.number
        else { return nil }
        self.init(source, fileName: fileName, fileOffset: offset, firstLine: location["line"]?.number ?? 1)
    }
}

enum PluginResponse: Equatable, Sendable {
    case capability(protocolVersion: Int)
    case expansion(source: String?, [Diagnostic])

    /// An error or a warning at a range of a file, in UTF-8 units.
    struct Diagnostic: Equatable, Sendable {
        let message: String
        let fileName: String
        let range: Range<Int>
        var isWarning = false
    }

    var json: JSON {
        switch self {
        case .capability(let version):
            let capability = JSON.object(["protocolVersion": .number(version), "features": .array([])])
            return .object(["getCapabilityResult": .object(["capability": capability])])
        case .expansion(let source, let diagnostics):
            var result = ["diagnostics": JSON.array(diagnostics.map(\.json))]
            if let source { result["expandedSource"] = .string(source) }
            return .object(["expandMacroResult": .object(result)])
        }
    }
}

extension PluginResponse.Diagnostic {
    var json: JSON {
        let file = JSON.string(fileName)
        return .object([
            "message": .string(message),
            "severity": .string(isWarning ? "warning" : "error"),
            "position": .object(["fileName": file, "offset": .number(range.lowerBound)]),
            "highlights": .array([
                .object([
                    "fileName": file,
                    "startOffset": .number(range.lowerBound),
                    "endOffset": .number(range.upperBound),
                ])
            ]),
            "notes": .array([]),
            "fixIts": .array([]),
        ])
    }
}
