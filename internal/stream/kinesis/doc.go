// Package kinesis reads streams of Amazon Kinesis.
//
// The central type is Source, a stream.Source whose partitions are shards. Its readers have one
// goroutine for each shard, which asks for records by an iterator, makes a new one when that has
// expired, and waits longer where the service says that it is asked too often.
//
// A position N says that the records with numbers above N are wanted. So it is the number of the
// last record that was read, and one below the first number of a shard of which nothing was. A
// shard that was split or merged and read to its end is at EOS, which is behind all of its numbers.
package kinesis
