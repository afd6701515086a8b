/// Why WordNet's files cannot be read.
enum WordNetError: Error, Equatable, CustomStringConvertible {
    case missing(path: String)
    /// A line does not have the form of wndb(5); lines count from 1.
    case malformed(path: String, line: Int, reason: String)

    var description: String {
        switch self {
        case .missing(let path):
            """
            there is no WordNet database file \(path).
            On Debian and Ubuntu: apt-get install wordnet-base
            Elsewhere: download WordNet 3.0 from https://wordnet.princeton.edu/download and pass the folder that \
            holds data.noun: GraphBench wordnet DIRECTORY
            """
        case .malformed(let path, let line, let reason): "\(path), line \(line): \(reason)"
        }
    }
}
