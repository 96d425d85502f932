// Package duty gives what a Coordinator does by itself, without being asked.
//
// The central types: Retention, which takes out of use what retention rules drop and what newer
// versions replaced; and Follower, which tells it, and the servers that load segments, what to look
// at: what changed at once, everything once in a while. They work on the published timeline and on
// the Rules, and write to the metastore through the narrow Store interface. What a rule means is in
// package duty/rule; deleting unused segments is in duty/kill, forgetting what is no longer needed
// in duty/clean, compaction in duty/compact; which of its segments a server loads is decided where
// they are loaded.
package duty
