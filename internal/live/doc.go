// Package live stores the segments that streaming tasks are filling: rows that can be queried
// before they are published.
//
// The central types are Set, the live segments of a process, and Segment, one of them. A Segment
// consists of parts; a part grows in memory, or is an immutable file:
//
//	Append ──► growing part ──Persist──► file ──┐
//	                ▲                    file ──┼──Finish──► one file ──Publish──► used ──► Close
//	           new columns extend it     file ──┘
//
// What holds:
//
//	L1. A batch is appended completely or not at all. Once Append has returned, Acquire returns its
//	    rows.
//	L2. Acquire returns an atomic snapshot of all parts. A row that moves from memory to a file, or
//	    from several files to one, is in exactly one part of every snapshot.
//	L3. Only queries that pin a number below M read the rows of a segment that was published under
//	    number M; other queries read the used segment. While a publication is in progress, queries
//	    that could be on either side wait for its outcome.
//	L4. Rows reserve their memory before they are appended (package budget). If that fails, nothing
//	    is appended: the caller persists a segment, and tries again.
//	L5. A segment is announced with its first rows, and again when it gets columns. Announcements of
//	    a segment arrive in order, and never after its withdrawal.
//
// With rollup, rows of a growing part are combined as they arrive (folded.go), and rows of several
// parts when the parts are merged into one file.
//
//	set.go       Set: opening, finding, memory
//	segment.go   Segment: its life cycle
//	acquire.go   snapshots for queries
//	part.go      parts; folded.go: parts with rollup
//	finish.go    several parts to one file; widen.go: columns whose type has changed
//
// How queries find live segments is in packages cluster and broker.
package live
