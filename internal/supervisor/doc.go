// Package supervisor keeps what is done again and again until somebody ends it: specifications with
// versions, suspended and resumed, ended with a record that says so.
//
// The central types are Set, which is all supervisors of a cluster, and Kind, which knows one type
// of them: what a specification means, and how what it asks for goes. The work itself is elsewhere:
// automatic compaction in package duty/compact. Every change of a specification is a new version in
// the metastore, with an audit entry; nothing of it is kept in memory.
//
//	supervisor.go   Spec, Kind, State; set.go: Set; noop.go: a supervisor that does nothing
package supervisor
