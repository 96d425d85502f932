// Package scheduled runs statements by the clock: supervisors of type scheduled_batch
// (spec/streaming.md, section 9), each of which submits an INSERT or REPLACE as a task whenever its
// schedule says so.
//
// The central types are Kind, which package supervisor asks, and Schedule, the times that a cron
// expression means. A time that comes while nobody leads, or while the supervisor is suspended, is
// left out. Deliberately elsewhere: what a statement does (package tasktype/sqltask).
package scheduled
