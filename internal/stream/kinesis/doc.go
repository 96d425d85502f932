// Package kinesis reads streams of Amazon Kinesis.
//
// The central type is Source, a stream.Source whose partitions are shards. Its readers have one
// goroutine per shard, which requests records by an iterator, renews an expired iterator, and waits
// longer when the service throttles it.
//
// A position N means that the records with numbers above N are next. It is the number of the last
// record that was read, or, if nothing was read, one less than the first number of the shard. The
// position of a shard that was split or merged and read to its end is EOS, which is greater than
// all of its numbers.
package kinesis
