import Foundation

exit(await GraphBench.run(Array(CommandLine.arguments.dropFirst()), engine: .graph))
