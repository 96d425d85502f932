// Package why explains the state of the cluster: why a segment is not loaded, dropped, deleted or
// compacted, and why a task waits.
//
// The central types are Explainer, which queries the parts that decide, and Decision, one of their
// decisions: a word for the outcome, a sentence with the reason, and the facts. The package itself
// decides nothing: it matches retention rules with the code of the duties, takes decisions about
// compaction from its last round, and derives the reason why a task waits from the current locks.
//
//	why.go                       Decision, Explainer
//	segment.go, compaction.go    about segments, and about compacting them
//	task.go                      about tasks
//	list.go                      about everything that is not in its desired state
package why
