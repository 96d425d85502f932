package pushlog

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/push"
)

// Sources opens the logs of datasources as streams, wherever they are.
type Sources struct {
	Options
	// Keeper has the logs of this process; nil: it has none.
	Keeper *Keeper
	// Seen waits until Brokers know which live segments there are here; nil: nobody has to.
	Seen func(ctx context.Context)
}

// Open returns the logs of a datasource as a stream: each is a partition.
func (o *Sources) Open(dataSource string) stream.Source {
	return &source{Source: &push.Source{}, o: o, name: dataSource}
}

// source compares positions as a log does that is read where it is.
type source struct {
	*push.Source
	o    *Sources
	name string
}

// Partitions implements stream.Source.
func (s *source) Partitions(ctx context.Context) ([]stream.Partition, error) {
	t, err := s.o.Places.Table(ctx, s.name)
	if err != nil || t == nil {
		return nil, err
	}
	out := make([]stream.Partition, len(t.Logs))
	for i := range t.Logs {
		out[i] = stream.Partition(t.Logs[i].ID)
	}
	return out, nil
}

// Earliest implements stream.Source.
func (s *source) Earliest(ctx context.Context, partitions []stream.Partition) (stream.Positions, error) {
	return s.bounds(ctx, partitions, func(b Bounds) int64 { return b.Earliest })
}

// Latest implements stream.Source.
func (s *source) Latest(ctx context.Context, partitions []stream.Partition) (stream.Positions, error) {
	return s.bounds(ctx, partitions, func(b Bounds) int64 { return b.Latest })
}

// boundsPatience bounds how long the workers are asked.
const boundsPatience = 2 * time.Second

// bounds asks the workers. Of a log whose worker does not answer nothing is known; if none answers,
// that is the error.
func (s *source) bounds(ctx context.Context, partitions []stream.Partition, of func(Bounds) int64) (stream.Positions, error) {
	ctx, cancel := context.WithTimeout(ctx, boundsPatience)
	defer cancel()
	out, failed := stream.Positions{}, error(nil)
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, p := range partitions {
		asking.Go(func() {
			b, err := s.ask(ctx, string(p))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			out[p] = stream.Position(strconv.FormatInt(of(b), 10))
		})
	}
	asking.Wait()
	if len(out) == 0 && failed != nil {
		return nil, failed
	}
	return out, nil
}

func (s *source) ask(ctx context.Context, id string) (Bounds, error) {
	l, err := s.find(ctx, id)
	if err != nil {
		return Bounds{}, err
	}
	if s.o.Keeper != nil && l.Leader == s.o.Own {
		return s.o.Keeper.Bounds(s.name, id)
	}
	p, err := s.peer(l)
	if err != nil {
		return Bounds{}, err
	}
	return p.bounds(ctx)
}

func (s *source) find(ctx context.Context, id string) (*Log, error) {
	t, err := s.o.Places.Table(ctx, s.name)
	if err != nil {
		return nil, err
	}
	if l := t.Find(id); l != nil {
		return l, nil
	}
	return nil, fault.NotFound("Datasource [%s] has no log [%s]", s.name, id)
}

func (s *source) peer(l *Log) (*peer, error) {
	m, ok := s.o.Places.Where(l.Leader)
	if !ok {
		return nil, away(l.ID)
	}
	return &peer{s.o.Client, m, s.name, l.ID}, nil
}

func away(id string) error {
	return &stream.ConnectionError{Class: "WorkerAway", Message: fmt.Sprintf("The worker that has log [%s] is not there", id)}
}

// Close implements stream.Source.
func (s *source) Close() error { return nil }

// Open implements stream.Source.
func (s *source) Open(context.Context) (stream.Reader, error) {
	r := &reader{s: s, parts: map[stream.Partition]*part{}, got: make(chan got), closed: make(chan struct{})}
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

// reader reads several logs at once, each by a goroutine.
type reader struct {
	s      *source
	life   context.Context // until it is closed
	end    context.CancelFunc
	closed chan struct{}
	once   sync.Once
	parts  map[stream.Partition]*part
	got    chan got
	// given are those of which the last Poll has returned something.
	given   []*part
	reading sync.WaitGroup
}

// got is what has come of a log.
type got struct {
	from    *part
	entries []*push.Entry
	err     error
}

// part is a log that is read.
type part struct {
	r   *reader
	id  stream.Partition
	end context.CancelFunc
	// next is behind what Poll has returned, wanted behind what was taken from the log.
	next, wanted int64
	// read is up to where entries are in live segments; wake gets a value when it has grown.
	read atomic.Int64
	wake chan struct{}
}

// Assign implements stream.Reader.
func (r *reader) Assign(_ context.Context, positions stream.Positions) error {
	for id, p := range r.parts {
		if at, ok := positions[id]; !ok || numberOf(at) != p.next {
			p.end()
			delete(r.parts, id)
		}
	}
	for id, at := range positions {
		if r.parts[id] != nil {
			continue
		}
		p := &part{r: r, id: id, next: numberOf(at), wanted: numberOf(at), wake: make(chan struct{}, 1)}
		p.read.Store(p.next)
		ctx, end := context.WithCancel(r.life)
		p.end = end
		r.parts[id] = p
		r.reading.Go(func() { p.run(ctx) })
	}
	return nil
}

// numberOf returns the number of a position; what is none is before all.
func numberOf(p stream.Position) int64 {
	n, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func textOf(position int64) stream.Position {
	return stream.Position(strconv.FormatInt(position, 10))
}

var errClosed = errors.New("the reader is closed")

// Poll implements stream.Reader.
func (r *reader) Poll(ctx context.Context, wait time.Duration) ([]stream.Batch, error) {
	for _, p := range r.given { // what was returned is in live segments now
		p.read.Store(p.next)
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	r.given = r.given[:0]
	timer := r.s.o.Clock.NewTimer(wait)
	defer timer.Stop()
	var out []stream.Batch
	for {
		select {
		case g := <-r.got:
			if r.parts[g.from.id] != g.from {
				continue // it is not read any more
			}
			if g.err != nil {
				return nil, g.err
			}
			out = append(out, g.from.batch(g.entries))
		case <-timer.C():
			return nil, nil
		case <-r.closed:
			return nil, errClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return out, nil
	}
}

func (p *part) batch(entries []*push.Entry) stream.Batch {
	out := stream.Batch{Partition: p.id, Records: make([]stream.Record, len(entries))}
	for i, e := range entries {
		out.Records[i] = stream.Record{Position: textOf(e.Position), Offset: e.Position, Time: e.Time, Value: e.Body}
	}
	p.next = entries[len(entries)-1].Position + 1
	out.Next = textOf(p.next)
	p.r.given = append(p.r.given, p)
	return out
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.once.Do(func() {
		close(r.closed)
		r.end()
	})
	r.reading.Wait()
	return nil
}

// run reads the log wherever it is led, until ctx is done.
func (p *part) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.follow(ctx)
		if _, gone := errors.AsType[*stream.OffsetError](err); gone {
			_ = p.give(ctx, got{from: p, err: err}) // it fails when ctx is done
		}
		_ = p.r.s.o.Clock.Sleep(ctx, again) // the loop looks why
	}
}

func (p *part) give(ctx context.Context, g got) error {
	select {
	case p.r.got <- g:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take gives entries to who polls.
func (p *part) take(ctx context.Context, entries []*push.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := p.give(ctx, got{from: p, entries: entries}); err != nil {
		return err
	}
	p.wanted = entries[len(entries)-1].Position + 1
	return nil
}

// silence is how long a worker says nothing until it is asked anew.
const silence = 2 * time.Second

// follow reads the log where it is led now, until that changes or fails.
func (p *part) follow(ctx context.Context) error {
	s := p.r.s
	l, err := s.find(ctx, string(p.id))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var helping sync.WaitGroup
	defer helping.Wait()
	defer cancel()
	var heard atomic.Int64
	heard.Store(s.o.Clock.Now().UnixNano())
	helping.Go(func() {
		defer cancel()
		for s.o.Clock.Sleep(ctx, silence/8) == nil {
			now, err := s.find(ctx, string(p.id))
			if err == nil && now.Leader != l.Leader || s.o.Clock.Now().UnixNano()-heard.Load() > int64(silence) {
				return
			}
		}
	})
	take := func(entries []*push.Entry) error {
		heard.Store(math.MaxInt64 / 2) // it takes as long as who polls does
		err := p.take(ctx, entries)
		heard.Store(s.o.Clock.Now().UnixNano())
		return err
	}
	if s.o.Keeper != nil && l.Leader == s.o.Own {
		return p.here(ctx, &helping, &heard, take)
	}
	at, err := s.peer(l)
	if err != nil {
		return err
	}
	name := rand.Text()
	helping.Go(func() { p.tell(ctx, func(n int64) error { return at.read(ctx, name, n) }) })
	return at.entries(ctx, p.id, name, p.wanted, take)
}

// here reads the log that this process leads.
func (p *part) here(ctx context.Context, helping *sync.WaitGroup, heard *atomic.Int64, take func([]*push.Entry) error) error {
	log, err := p.r.s.o.Keeper.Leading(ctx, p.r.s.name, string(p.id))
	if err != nil {
		return err
	}
	name := rand.Text()
	helping.Go(func() {
		p.tell(ctx, func(n int64) error {
			log.Read(name, n)
			return nil
		})
	})
	defer log.Forget(name)
	heard.Store(p.r.s.o.Clock.Now().UnixNano())
	return log.Stream(ctx, p.id, p.wanted, take)
}

// tell tells who leads the log up to where entries are in live segments.
func (p *part) tell(ctx context.Context, tell func(n int64) error) {
	for {
		read := p.read.Load()
		if p.r.s.o.Seen != nil {
			p.r.s.o.Seen(ctx)
		}
		if err := tell(read); err != nil {
			if p.r.s.o.Clock.Sleep(ctx, again) != nil {
				return
			}
			continue
		}
		timer := p.r.s.o.Clock.NewTimer(push.ReadEvery)
		select {
		case <-p.wake:
		case <-timer.C():
		case <-ctx.Done():
		}
		if timer.Stop(); ctx.Err() != nil {
			return
		}
	}
}

// entries reads the entries of a log from a position on, until that ends.
func (p *peer) entries(
	ctx context.Context, partition stream.Partition, reader string, from int64, take func([]*push.Entry) error,
) error {
	rest := fmt.Sprintf("/entries?reader=%s&from=%d", url.QueryEscape(reader), from)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url(rest), nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return fault.Unavailable("The worker with the push log does not respond").WithCause(err)
	}
	defer resp.Body.Close() // it was only read
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		var b Bounds
		if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&b); err != nil {
			return err
		}
		return &stream.OffsetError{Partition: partition, Wanted: textOf(from), Earliest: textOf(b.Earliest), Latest: textOf(b.Latest)}
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return answered(resp)
	}
	in := bufio.NewReaderSize(resp.Body, 1<<18)
	for {
		entries, err := push.ReadEntries(in)
		if err != nil {
			return err
		}
		if err := take(entries); err != nil {
			return err
		}
	}
}
