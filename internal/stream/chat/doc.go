// Package chat gives what a supervisor and the tasks that read its stream say to each other: the
// words of /service/worker/v1/chat/{taskId} (spec/streaming.md, section 7).
//
// The central types are Task, by which a supervisor steers one task wherever it runs, and Overlord,
// by which a task asks for a checkpoint of its group. Both are implemented over HTTP, and in the
// process where both sides are in one.
package chat
