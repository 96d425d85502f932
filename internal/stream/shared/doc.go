// Package shared reads a partition once for all readers of the process that need it.
//
// The central type is Sources, which opens sources whose readers share. A feed is the shared part
// of one stream: it reads each partition that at least two readers need ahead of the first of them,
// and keeps the records in a window from which the other readers read.
//
//	           dropped │◄──────── window ────────►│ read next
//	partition 0 ───────┼──────────────────────────┤
//	               ▲            ▲             ▲
//	           on its own   a follower    the first follower
//
// Invariants:
//
//  1. The feed waits only for the first follower. A reader that falls behind the window, or is
//     ahead of it, reads on its own until it reaches the window again.
//  2. The size of a window in bytes is limited; records ahead of the first follower take at most
//     half of it.
//  3. Each reader has its own position. It gets each record once, in order, whether it follows or
//     reads on its own.
//  4. If a feed cannot read, its followers see the error. A position that the stream does not have
//     is an exception: the readers of the partition read on their own, and each gets the error
//     itself.
//
// A partition that only one reader needs does not have a feed, and costs nothing. Only streams
// whose batches remain valid after the next Poll can be shared, as those of Kafka do.
package shared
