package timeline

// maxPartition bounds partition numbers and core sizes: they are 32-bit integers in Druid's JSON.
const maxPartition = 1<<31 - 1

// maxNesting bounds the depth of JSON objects inside a segment's payload (loadSpec,
// lastCompactionState).
const maxNesting = 64
