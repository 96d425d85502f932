// Package compact implements automatic compaction: tasks rewrite segments that are small,
// fragmented, or different from the settings of their datasource.
//
// The central type is Scheduler. A round considers the datasources that have settings and groups
// their visible segments by time chunk. Each group is compacted, has to wait, is skipped for a
// reason, or needs a task. The round then submits tasks while there are free slots. Changes of
// segments and settings and ended tasks start a round; a complete round once per period is the
// safety net. The results of a round remain available as snapshots and explanations.
//
//	settings.go     the stored settings of the cluster and of all datasources;
//	                policy.go: the order of the groups
//	config.go       the settings of one datasource; partitions.go, dimension.go: parts with their
//	                own JSON; msq.go: requirements of the engine
//	state.go        the settings with which segments were compacted, and their first difference to
//	                the current settings
//	group.go        the visible segments of a datasource in groups
//	scheduler.go    rounds; slots.go: number of tasks; attempt.go: their outcomes; task.go: their
//	                JSON
//	snapshot.go     state for endpoints; simulate.go: effects of other settings; explain.go: the
//	                reasons for the state of a segment
//
// Three rules make rounds converge. A group whose segments match the settings is not compacted. The
// newest data is skipped, and so are intervals that a task of equal or higher priority has locked.
// A group that failed is retried with increasing delays; a group that a task compacted without
// reaching the wanted state is skipped until its segments or settings change.
//
// Elsewhere: running the tasks (package task and the kinds of tasktype/sqltask), and the endpoints
// (package api/coordinator).
package compact
