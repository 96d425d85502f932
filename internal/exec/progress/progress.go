// Package progress counts the progress of queries.
//
// The central type is Progress. The operators of package exec and the dispatcher of fragments add
// to it; lists of running queries read it. Parts is the progress of queries of other processes.
package progress

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Progress counts the progress of the scans of a query: workers add to it once per several thousand
// rows. It is read while the query runs. Methods of a nil Progress do nothing. All methods are safe
// for use by many goroutines.
type Progress struct {
	segments, rows, bytes             atomic.Int64 // that are to be read, as far as that is known
	segmentsDone, rowsDone, bytesDone atomic.Int64

	mu struct {
		sync.Mutex
		asked map[string]int // servers that read a part now, by URL
	}
}

// Done is the progress of a query. Bytes are those of the read columns, as stored.
type Done struct {
	// Segments, Rows and Bytes are the totals; the other fields count the part that was read so far.
	Segments     int64 `json:"segments"`
	Rows         int64 `json:"rows"`
	Bytes        int64 `json:"bytes"`
	SegmentsRead int64 `json:"segmentsRead"`
	RowsRead     int64 `json:"rowsRead"`
	BytesRead    int64 `json:"bytesRead"`
}

// Done returns the progress of the query in this process, and the finished parts of other servers.
func (p *Progress) Done() Done {
	if p == nil {
		return Done{}
	}
	return Done{
		Segments: p.segments.Load(), Rows: p.rows.Load(), Bytes: p.bytes.Load(),
		SegmentsRead: p.segmentsDone.Load(), RowsRead: p.rowsDone.Load(), BytesRead: p.bytesDone.Load(),
	}
}

// Add adds the progress of a part of the query that is still running, limited to its totals.
func (d *Done) Add(part Done) {
	d.SegmentsRead = min(d.Segments, d.SegmentsRead+part.SegmentsRead)
	d.RowsRead = min(d.Rows, d.RowsRead+part.RowsRead)
	d.BytesRead = min(max(d.Bytes, d.BytesRead), d.BytesRead+part.BytesRead)
}

// Segment is the progress of workers in a segment. The zero Segment is not tracked.
type Segment struct {
	rows, bytes int64
	undone      atomic.Int64 // rows that no worker has dealt with
}

// Expect registers a segment that will be read: its candidate rows, and the bytes of their columns
// in the file.
func (p *Progress) Expect(s *Segment, rows, bytes int64) {
	if p == nil || rows == 0 {
		return
	}
	s.rows, s.bytes = rows, bytes
	s.undone.Store(rows)
	p.segments.Add(1)
	p.rows.Add(rows)
	p.bytes.Add(bytes)
}

// Forget removes a segment that was not read: it is read in another way, or not at all.
func (p *Progress) Forget(s *Segment) {
	if p == nil || s.rows == 0 {
		return
	}
	p.segments.Add(-1)
	p.rows.Add(-s.rows)
	p.bytes.Add(-s.bytes)
}

// Did records that a worker has processed rows of a segment.
func (p *Progress) Did(s *Segment, rows int64) {
	if p == nil || rows == 0 {
		return
	}
	left := s.undone.Add(-rows)
	before := func(rows int64) int64 { return int64(float64(s.bytes) / float64(s.rows) * float64(rows)) }
	p.rowsDone.Add(rows)
	p.bytesDone.Add(before(s.rows-left) - before(s.rows-left-rows))
	if left == 0 {
		p.segmentsDone.Add(1)
	}
}

// Ask registers a part of the query that servers read, with their URLs and its size. The caller
// calls the result at the end of the part; whole is true if all of it was read.
func (p *Progress) Ask(urls []string, segments, rows int64) (end func(whole bool)) {
	if p == nil {
		return func(bool) {}
	}
	p.segments.Add(segments)
	p.rows.Add(rows)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.asked == nil {
		p.mu.asked = map[string]int{}
	}
	for _, url := range urls {
		p.mu.asked[url]++
	}
	return func(whole bool) {
		if whole {
			p.segmentsDone.Add(segments)
			p.rowsDone.Add(rows)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, url := range urls {
			if p.mu.asked[url]--; p.mu.asked[url] == 0 {
				delete(p.mu.asked, url)
			}
		}
	}
}

// Asked returns the URLs of the servers that currently read parts of the query.
func (p *Progress) Asked() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]string, 0, len(p.mu.asked))
	for url := range p.mu.asked {
		out = append(out, url)
	}
	slices.Sort(out)
	return out
}

// Parts tracks the progress of parts of queries of other processes in this process, by query id.
// The zero Parts is empty. It is safe for use by many goroutines.
type Parts struct {
	mu struct {
		sync.Mutex
		running map[string][]*Progress
	}
}

// Begin returns the progress of a part of a query; the caller calls end when the part has ended.
func (p *Parts) Begin(query string) (progress *Progress, end func()) {
	progress = &Progress{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.running == nil {
		p.mu.running = map[string][]*Progress{}
	}
	p.mu.running[query] = append(p.mu.running[query], progress)
	return progress, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		left := slices.DeleteFunc(p.mu.running[query], func(o *Progress) bool { return o == progress })
		if p.mu.running[query] = left; len(left) == 0 {
			delete(p.mu.running, query)
		}
	}
}

// Done returns the progress of the parts of a query in this process, without other servers.
func (p *Parts) Done(query string) (sum Done) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.mu.running[query] {
		d := part.Done()
		sum.Segments, sum.Rows, sum.Bytes = sum.Segments+d.Segments, sum.Rows+d.Rows, sum.Bytes+d.Bytes
		sum.SegmentsRead, sum.RowsRead, sum.BytesRead = sum.SegmentsRead+d.SegmentsRead, sum.RowsRead+d.RowsRead, sum.BytesRead+d.BytesRead
	}
	return sum
}
