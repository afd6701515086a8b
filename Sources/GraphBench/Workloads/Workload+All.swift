extension Workload {
    /// Every workload, in the order of the report.
    static let all: [Workload] =
        footprintWorkloads + insertWorkloads + commitWorkloads + readWorkloads + traversalWorkloads + linkWorkloads
        + changeWorkloads + contextWorkloads + reopenWorkloads + propertyWorkloads
}
