// Package imports gives the task that brings segments of the reference system over: they are read
// from its deep storage, written in our format, and published under their own ids, intervals,
// versions and shard specs.
//
// The central type is Import, the kind of these tasks for the task queue. `henge import` submits
// them, each with some segments of one datasource, from what the reference's metadata tables or a
// folder of its deep storage say (package peer). The segments of a time chunk and version become
// visible together, the newest chunks first; those that are there already are left alone, so that a
// task can be repeated.
//
// Reading the reference's files is in package segment/v9.
package imports
