// Package live holds the segments that streaming tasks still fill: rows that can be queried before
// they are published.
//
// The central types are Set, the live segments of a process, and Segment, one of them. Rows of a
// Segment lie in parts; a part grows in memory, or is a file that does not change:
//
//	Append ──► growing part ──Persist──► file ──┐
//	                ▲                    file ──┼──Finish──► one file ──Publish──► used ──► Close
//	           new columns extend it     file ──┘
//
// What holds:
//
//	L1. A batch is appended whole or not at all. As soon as Append has returned its rows are in what
//	    Acquire returns.
//	L2. Acquire returns all parts as they are at one moment. A row that moves from memory to a file,
//	    or from several files to one, is in exactly one of the parts of every moment.
//	L3. Rows of a segment that was published under number M are for queries that pin a number below
//	    M. Those that pin M or more find the segment among the used ones. While a publication is in
//	    flight, and it is not known on which side a query stands, the query waits for the outcome.
//	L4. Rows reserve their memory before they are taken (package budget). What is refused is not
//	    taken: who appends persists a segment, and appends again.
//	L5. A segment is announced with its first rows, and again when it gets columns; announcements of
//	    one segment come in their order, and none after it was withdrawn.
//
// With rollup the rows of a growing part are combined as they come (folded.go), those of several
// parts when they become one file.
//
//	set.go       Set: opening, finding, memory
//	segment.go   Segment: its life
//	acquire.go   what queries read
//	part.go      parts; folded.go: the one that combines rows
//	finish.go    several parts to one file; widen.go: columns whose type has changed
//
// How queries find live segments is in packages cluster and broker.
package live
