// Package chat defines the messages between a supervisor and the tasks that read its stream, at
// /service/worker/v1/chat/{taskId}.
//
// The central types are Task, through which a supervisor controls one task in any process, and
// Overlord, through which a task requests a checkpoint of its group. Both are implemented over
// HTTP, and locally if both sides are in one process.
package chat
