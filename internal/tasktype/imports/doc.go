// Package imports implements the task that imports segments of Apache Druid: it reads them from
// Druid's deep storage, writes them in the format of Henge, and publishes them with their ids,
// intervals, versions and shard specs.
//
// The central type is Import, the kind of these tasks for the task queue. `henge import` submits
// them. Each task has some segments of one datasource, from Druid's metadata tables or from a
// folder of its deep storage (package peer). The segments of a time chunk and version become
// visible together, the newest chunks first. Existing segments are skipped, so a task can be
// repeated.
//
// Package segment/v9 reads Druid's files.
package imports
