// Package scheduled runs statements on a schedule. A supervisor of type scheduled_batch submits an
// INSERT or REPLACE as a task whenever its schedule fires.
//
// The central types are Kind, which package supervisor calls, and Schedule, the times of a cron
// expression. A time is skipped if there is no leader at that time, or if the supervisor is
// suspended. Deliberately elsewhere: running statements (package tasktype/sqltask).
package scheduled
