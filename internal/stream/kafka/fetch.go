package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetcher asks one broker, in one goroutine, for what its partitions have next.
type fetcher struct {
	reader *reader
	node   int32
	wake   chan struct{}
}

// fetch is one request.
type fetch struct {
	request kmsg.Request
	asked   map[topicPartition]asked
	topics  map[[16]byte]string
}

// asked is a cursor and where it was asked for.
type asked struct {
	*cursor
	from int64
}

func (f *fetcher) run() {
	for {
		next, again := f.next()
		if next == nil {
			var due time.Duration
			if !again.IsZero() {
				due = max(again.Sub(f.reader.source.clock.Now()), time.Millisecond)
			}
			if !f.sleep(due) {
				return
			}
			continue
		}
		resp, err := f.reader.client.Broker(int(f.node)).Request(f.reader.ctx, next.request)
		if f.reader.ctx.Err() != nil {
			return
		}
		if err == nil {
			answer := resp.(*kmsg.FetchResponse)
			if err = kerr.ErrorForCode(answer.ErrorCode); err == nil {
				f.take(next, answer)
				continue
			}
		}
		f.fail(next, err)
	}
}

// sleep waits until there may be something to ask for; due, if not 0, is when a cursor may be asked
// for again.
func (f *fetcher) sleep(due time.Duration) bool {
	var again <-chan time.Time
	if due > 0 {
		timer := f.reader.source.clock.NewTimer(due)
		defer timer.Stop()
		again = timer.C()
	}
	select {
	case <-f.wake:
	case <-again:
	case <-f.reader.ctx.Done():
		return false
	}
	return true
}

// next makes the next request; nil: there is nothing to ask for, before again if that is a time.
func (f *fetcher) next() (next *fetch, again time.Time) {
	r := f.reader
	now := r.source.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.buffered >= bufferedBytes {
		return nil, again // Poll wakes
	}
	var free []*cursor
	for _, c := range r.mu.cursors {
		if c.node != f.node || c.busy || r.mu.paused[c.partition] {
			continue
		}
		if c.notBefore.After(now) {
			if again.IsZero() || c.notBefore.Before(again) {
				again = c.notBefore
			}
			continue
		}
		free = append(free, c)
	}
	if len(free) == 0 {
		return nil, again
	}
	return f.requestLocked(free), again
}

// requestLocked asks for cursors. Which is first takes turns: what a broker gives at once is
// bounded. The order of a map is a turn enough.
func (f *fetcher) requestLocked(free []*cursor) *fetch {
	r := f.reader
	set := r.source.settings
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, int32(set.fetchWait.Milliseconds()), set.fetchMin, set.fetchMax
	req.SessionEpoch, req.Rack = -1, set.rack
	if !set.uncommitted {
		req.IsolationLevel = 1
	}
	out := &fetch{request: req, asked: map[topicPartition]asked{}, topics: map[[16]byte]string{}}
	at := map[string]int{}
	unnamed := false
	for _, c := range free {
		i, ok := at[c.topic]
		if !ok {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = c.topic, r.mu.topics[c.topic].id
			unnamed = unnamed || t.TopicID == [16]byte{}
			out.topics[t.TopicID] = c.topic
			i = len(req.Topics)
			at[c.topic], req.Topics = i, append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = c.number, c.next, set.partitionMax
		p.CurrentLeaderEpoch = c.leader.epoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
		c.busy = true
		out.asked[c.topicPartition] = asked{c, c.next}
	}
	if unnamed {
		out.request = byName{req}
	}
	return out
}

// byName is a fetch of topics that have no id, as older brokers make them.
type byName struct{ *kmsg.FetchRequest }

// MaxVersion is the last version that names topics.
func (byName) MaxVersion() int16 { return 12 }

// fail notes that a request as a whole had no answer.
func (f *fetcher) fail(of *fetch, err error) {
	r := f.reader
	err = r.source.trouble("Broker does not answer", err)
	r.mu.Lock()
	for _, a := range of.asked {
		a.node = -1
		r.failedLocked(a.cursor, err)
	}
	r.mu.Unlock()
	wake(r.stale)
	wake(r.came)
}

// answered is what came for one partition, decoded.
type answered struct {
	asked
	part kgo.FetchPartition
	next int64
	raw  int   // bytes
	to   int32 // the broker that should be asked instead, if not negative
}

// take decodes an answer and leaves it for Poll.
func (f *fetcher) take(of *fetch, resp *kmsg.FetchResponse) {
	r := f.reader
	isolation := kgo.ReadCommitted()
	if r.source.uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	var parts []answered
	raw := 0
	for i := range resp.Topics {
		t := &resp.Topics[i]
		name := t.Topic
		if resp.Version >= 13 {
			name = of.topics[t.TopicID]
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			a, ok := of.asked[topicPartition{name, p.Partition}]
			if !ok {
				continue
			}
			delete(of.asked, a.topicPartition)
			got := answered{asked: a, raw: len(p.RecordBatches), to: -1}
			if resp.Version >= 11 {
				got.to = p.PreferredReadReplica
			}
			got.part, got.next = kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
				Offset: a.from, IsolationLevel: isolation, Topic: name, Partition: p.Partition,
			}, p, r.source.decompressor, nil)
			raw += got.raw
			parts = append(parts, got)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range parts {
		f.takeLocked(&parts[i], raw == 0)
	}
	for _, a := range of.asked { // which the answer left out, as that of a broker that throttles does
		if a.busy = false; resp.ThrottleMillis == 0 {
			r.failedLocked(a.cursor, r.source.trouble("A broker left partitions out", kerr.UnknownServerError))
		}
	}
	if len(r.mu.ready) > 0 {
		wake(r.came)
	}
}

// takeLocked takes what came for one partition; empty says that the whole answer had no records.
func (f *fetcher) takeLocked(got *answered, empty bool) {
	r, c, err := f.reader, got.cursor, got.part.Err
	if c.dropped {
		return
	}
	if len(got.part.Records) == 0 && err != nil {
		f.refusedLocked(c, err)
		return
	}
	if err != nil { // behind the records, which are good; the error comes again when they are taken
		got.next = got.part.Records[len(got.part.Records)-1].Offset + 1
	}
	if got.to >= 0 && got.to != f.node {
		c.node, c.busy = got.to, false
		r.fetcherLocked(got.to)
		wake(r.mu.fetchers[got.to].wake)
		return
	}
	next := max(got.next, c.next)
	if next == c.next && len(got.part.Records) == 0 {
		if got.raw > 0 {
			r.failedLocked(c, r.source.trouble("A broker returned records that were not requested", kerr.CorruptMessage))
			return
		}
		end := got.part.LastStableOffset
		if r.source.uncommitted || end < 0 {
			end = got.part.HighWatermark
		}
		// What is below the end and not there was compacted away. An end is believed only when the
		// next answer has nothing below it either.
		if !empty || next >= end {
			c.gap = 0
		} else if c.gap == 0 {
			c.gap = end
		} else {
			next, c.gap = c.gap, 0
		}
	} else {
		c.gap = 0
	}
	c.healthy()
	if next == c.next {
		c.busy = false
		return
	}
	d := &delivery{cursor: c, records: got.part.Records, next: next}
	for _, k := range d.records {
		d.bytes += len(k.Key) + len(k.Value) + recordBytes
	}
	c.next = next
	r.mu.buffered += d.bytes
	r.mu.ready = append(r.mu.ready, d)
}

// refusedLocked takes an error of one partition.
func (f *fetcher) refusedLocked(c *cursor, err error) {
	r := f.reader
	if errors.Is(err, kerr.OffsetOutOfRange) {
		r.done.Go(func() { r.check(c) }) // the cursor stays busy
		return
	}
	c.node = -1
	r.failedLocked(c, r.source.trouble("Partition ["+string(c.partition)+"] of topic ["+c.topic+"] can't be read", err))
	wake(r.stale)
}
