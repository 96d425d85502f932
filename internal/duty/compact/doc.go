// Package compact gives automatic compaction: segments that are small, scattered or unlike what
// their datasource wants are rewritten by tasks, without being asked (spec/cluster.md, section 15).
//
// The central type is Scheduler. A round looks at the datasources that have settings, groups their
// visible segments by time chunk, and says of each group whether it is compacted, has to wait, is
// skipped and why, or needs a task; then it submits tasks while there are slots. Rounds follow what
// changes: segments, settings, a task that ended. A look at everything once a period is the safety
// net. What a round found out stays readable as snapshots and explanations.
//
//	settings.go     the cluster's settings and those of all datasources, as they are stored; policy.go: which group goes first
//	config.go       the settings of one datasource; partitions.go, dimension.go: parts with a form of their own; msq.go: what the engine asks for
//	state.go        the settings that segments were compacted with, and the first difference to those that are wanted
//	group.go        the visible segments of a datasource in groups
//	scheduler.go    rounds; slots.go: how many tasks; attempt.go: what became of them; task.go: their JSON
//	snapshot.go     what endpoints show; simulate.go: what other settings would do; explain.go: why a segment is as it is
//
// What keeps a cluster calm: a group whose segments carry the wanted state is left alone, so rounds
// converge; the newest data is skipped, as are intervals that a task of equal or higher priority
// has locked; a group that failed is tried again later and later, and one that a task compacted
// without reaching the wanted state is left alone until its segments or settings change.
//
// Running the tasks is elsewhere (package task and the kinds of tasktype/sqltask), as are endpoints
// (package api/coordinator).
package compact
