// Package supervisor manages supervisors: versioned specifications of recurring work, which users
// suspend, resume and terminate.
//
// The central types are Set, all supervisors of a cluster, and Kind, one type of supervisor, which
// interprets specifications and reports their progress. The work itself is elsewhere, for example
// automatic compaction in package duty/compact. Every change of a specification is a new version in
// the metastore, with an audit entry; the package does not cache specifications.
//
//	supervisor.go   Spec, Kind, State; set.go: Set; noop.go: a supervisor that does nothing
package supervisor
