package kafka

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/hengedb/henge/internal/stream"
)

// follow looks who leads what, whenever somebody finds that he does not know.
func (r *reader) follow() {
	for failed := 0; ; {
		select {
		case <-r.stale:
		case <-r.ctx.Done():
			return
		}
		if r.look() {
			failed = 0
			continue
		}
		if r.source.clock.Sleep(r.ctx, pause(failed)) != nil {
			return
		}
		failed++
		wake(r.stale)
	}
}

// look asks for the leaders of all topics that are read, and reports whether each partition has
// one.
func (r *reader) look() bool {
	r.mu.Lock()
	var names []string
	for _, c := range r.mu.cursors {
		if !slices.Contains(names, c.topic) {
			names = append(names, c.topic)
		}
	}
	r.mu.Unlock()
	if len(names) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.source.answer)
	defer cancel()
	topics, err := r.source.metadata(ctx, r.client, names)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.mu.topics = topics
	}
	if r.assignLocked() {
		r.wakeLocked()
		return true
	}
	for _, c := range r.mu.cursors {
		if c.node >= 0 || c.busy {
			continue
		}
		why := err
		if why == nil {
			why = r.source.trouble("Partition ["+string(c.partition)+"] of topic ["+c.topic+"] can't be read", r.missing(c))
		}
		r.failedLocked(c, why)
	}
	r.wakeLocked()
	wake(r.came)
	return false
}

// missing says why a cursor has no leader.
func (r *reader) missing(c *cursor) error {
	if t := r.mu.topics[c.topic]; t != nil {
		if _, ok := t.leaders[c.number]; ok {
			return kerr.LeaderNotAvailable
		}
	}
	return kerr.UnknownTopicOrPartition
}

// assignLocked gives cursors that nobody is asked for to the fetchers of their leaders, and reports
// whether there was one for each.
func (r *reader) assignLocked() bool {
	all := true
	for _, c := range r.mu.cursors {
		if c.node >= 0 || c.busy {
			continue
		}
		t := r.mu.topics[c.topic]
		if t == nil {
			all = false
			continue
		}
		l, ok := t.leaders[c.number]
		if !ok || l.node < 0 {
			all = false
			continue
		}
		c.leader, c.node = l, l.node
		r.fetcherLocked(l.node)
	}
	return all
}

// fetcherLocked sees to it that a broker has a fetcher.
func (r *reader) fetcherLocked(node int32) {
	if r.mu.fetchers[node] != nil || r.mu.closed {
		return
	}
	f := &fetcher{reader: r, node: node, wake: make(chan struct{}, 1)}
	r.mu.fetchers[node] = f
	r.done.Go(f.run)
}

// wakeLocked wakes the fetchers.
func (r *reader) wakeLocked() {
	for _, f := range r.mu.fetchers {
		wake(f.wake)
	}
}

// check finds out about a cursor whose position its broker does not have.
func (r *reader) check(c *cursor) {
	partitions := []stream.Partition{c.partition}
	earliest, err := r.source.Earliest(r.ctx, partitions)
	var end, latest stream.Positions
	if err == nil {
		end, err = r.source.offsets(r.ctx, partitions, r.source.admin.ListEndOffsets)
	}
	if err == nil {
		latest, err = r.source.Latest(r.ctx, partitions)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer wake(r.came)
	defer wake(r.stale)
	from, known := earliest[c.partition]
	to := end[c.partition]
	switch {
	case err == nil && !known:
		err = r.source.trouble("Partition ["+string(c.partition)+"] of topic ["+c.topic+"] can't be read", kerr.UnknownTopicOrPartition)
	case err == nil && number(from) <= c.next && c.next <= number(to):
		// A replica that was behind, or a leader that changed.
		err = r.source.trouble("Partition ["+string(c.partition)+"] of topic ["+c.topic+"] can't be read", kerr.OffsetNotAvailable)
	case err == nil:
		if c.lost == nil {
			c.lost = &stream.OffsetError{Partition: c.partition, Wanted: position(c.next)}
		}
		c.lost.Earliest, c.lost.Latest = from, latest[c.partition]
		c.trouble, c.fails, c.busy = nil, 0, false
		c.notBefore = r.source.clock.Now().Add(mostPause)
		c.node = -1
		return
	}
	c.node = -1
	r.failedLocked(c, err)
}
