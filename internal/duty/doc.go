// Package duty implements the background duties of the Coordinator.
//
// The central types are Retention and Follower. Retention marks segments unused that retention
// rules drop or that newer versions replaced. Follower calls Retention, and the duty that assigns
// segments to servers, for changed datasources immediately and for all datasources once per period.
// They read the published timeline and the Rules, and write to the metastore through the narrow
// interface Store. Package duty/rule interprets rules, duty/kill deletes unused segments,
// duty/clean deletes obsolete records, and duty/compact compacts.
package duty
