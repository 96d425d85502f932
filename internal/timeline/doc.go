// Package timeline defines the identity of segments, and determines the segments that a query sees:
// versions, completeness, overshadowing.
//
// The central types are Segment, an immutable descriptor; Timeline, all used segments of one
// datasource; and State, the timelines of all datasources at one number of the published change
// stream. Timeline and State are immutable too: applying changes returns a new value that shares
// nearly all of the old one, so a query pins a State by keeping a pointer, and sees a replacement
// that was published under one number completely or not at all. Published is the newest State.
//
//	id.go, id_parse.go    SegmentID and its text
//	segment.go            Segment, Schema; segment_json.go: their JSON; intern.go: sharing equal
//	                      parts
//	shardspec*.go         ShardSpec, the position of a segment in its chunk; prune.go: shard specs
//	                      that a filter excludes
//	chunk.go              Chunk: the segments of one interval and version; completeness
//	tree.go               the persistent interval tree of chunks
//	timeline.go           Timeline: apply, lookup; overshadow.go: overshadowed segments;
//	                      tombstone.go: hiding without rows
//	state.go              State and Published
//
// Only this package decides visibility, by these rules:
//
//	R1. The segments with one interval and one version are a chunk. A chunk is complete when it has
//	all partitions of its core set, or
//	    when it has no core set (core size 0).
//	R2. At each instant, the visible chunk is the complete one with the highest version among those
//	whose interval contains the instant.
//	    Versions are compared as byte strings. Among chunks of equal version, which correct writers
//	    never let overlap, the one that starts later wins, then the one that ends earlier.
//	R3. All segments of a visible chunk are visible, those beyond its core set included. They are
//	clipped to where the chunk is visible.
//	R4. A segment is overshadowed when every instant of its interval shows a chunk of a strictly
//	higher version.
//	R5. A tombstone takes part in R1 to R4 like any segment and has no rows.
//
//	version 3          |-- C --|
//	version 2     |------ B (1 of 2 partitions there) ------|
//	version 1  |------------ A ------------|        |-- D --|
//	visible    |---A---|-- C --|-----A-----|        |-- D --|
//
// The package is pure: no clock, no disk, no goroutine. Publishing is in package metastore, the
// inventory of servers in package cluster.
package timeline
