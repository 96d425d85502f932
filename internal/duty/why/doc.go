// Package why tells in words why things are as they are: why a segment is not loaded, not dropped,
// not deleted or not compacted, and why a task waits.
//
// The central types are Explainer, which asks the parts that decide, and Decision, what one of them
// decided about one thing: a word for the outcome, a sentence with the reason, and the facts behind
// it. Nothing is decided here: retention rules are matched as the duties match them, what
// compaction makes of a segment comes from its last round, and what a task waits for from the locks
// that there are.
//
//	why.go                       Decision, Explainer
//	segment.go, compaction.go    about segments, and about compacting them
//	task.go                      about tasks
//	list.go                      about all that is not as it should be
package why
