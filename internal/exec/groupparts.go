package exec

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

// groupParts are the groups of an aggregation, in parts that several goroutines may take. A part is
// made when it is taken, and its memory is free again when it was read.
type groupParts struct {
	n int
	// takers is how many may take parts at once.
	takers int
	build  func(ctx context.Context, part int) (Operator, error)
	free   func()

	mu      sync.Mutex
	next    int
	present map[Operator]bool // taken and not closed
}

// take makes the next part; nil: there are no more.
func (p *groupParts) take(ctx context.Context) (Operator, int, error) {
	p.mu.Lock()
	part := p.next
	p.next = min(p.next+1, p.n)
	p.mu.Unlock()
	if part == p.n {
		return nil, 0, nil
	}
	op, err := p.build(ctx, part)
	if err != nil {
		return nil, 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.present == nil {
		p.present = map[Operator]bool{}
	}
	p.present[op] = true
	return op, part, nil
}

// done closes a part that was read.
func (p *groupParts) done(op Operator) {
	p.mu.Lock()
	delete(p.present, op)
	p.mu.Unlock()
	op.Close()
}

// close frees what was not read. Nobody takes or reads any more.
func (p *groupParts) close() {
	for op := range p.present {
		op.Close()
	}
	p.present = nil
	if p.free != nil {
		p.free()
	}
}

// partsOf returns the groups of all workers, which it empties.
func partsOf(ctx context.Context, workers []*grouper) (*groupParts, error) {
	aside, spilled := false, false
	for _, g := range workers {
		if g.table != nil && g != workers[0] {
			workers[0].table.takeMet(g.table)
			g.table.numberMet()
		}
		aside = aside || g.scatter != nil
		spilled = spilled || g.files.used()
	}
	if t := workers[0].table; t != nil {
		t.numberMet()
	}
	switch {
	case spilled:
		return spilledParts(ctx, workers)
	case aside:
		return scatteredParts(ctx, workers)
	}
	if p := indexedParts(workers); p != nil {
		return p, nil
	}
	tables, err := mergeGroups(ctx, workers)
	if err != nil {
		return nil, err
	}
	p := &groupParts{n: len(tables), takers: len(tables)}
	p.build = func(ctx context.Context, part int) (Operator, error) { return tables[part].results(ctx) }
	p.free = func() {
		for _, g := range tables {
			g.close()
		}
	}
	return p, nil
}

// scattered are the groups of workers that put rows aside.
type scattered struct {
	workers []*grouper
	mains   []scatteredMain // by worker
	dealt   bool            // keys are dealt to partitions
	within  dealtRange      // what they are among then
	mu      sync.Mutex      // held to change what a worker holds
}

// scatteredMain is what a worker had before it put rows aside.
type scatteredMain struct {
	order  []uint32 // its groups, partition by partition
	bounds [scatterParts + 1]int
	states []*vector.Vector // intermediate values of all groups
}

func scatteredParts(ctx context.Context, workers []*grouper) (*groupParts, error) {
	s := &scattered{workers: workers, mains: make([]scatteredMain, len(workers))}
	first := workers[0]
	for _, g := range workers {
		first.table.maskAlike(g.table)
		s.dealt = s.dealt || g.scatter != nil && g.scatter.of.dealt()
	}
	for i, g := range workers {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		g.table.maskAlike(first.table)
		s.mains[i] = newScatteredMain(g, s.dealt)
	}
	if s.dealt {
		s.within = dealtWithin(workers)
	}
	return &groupParts{n: scatterParts, takers: scatterParts, build: s.part, free: func() {
		for _, g := range workers {
			g.close()
		}
	}}, nil
}

func newScatteredMain(g *grouper, dealt bool) scatteredMain {
	var m scatteredMain
	t := g.table
	part := make([]uint8, t.len())
	masks := t.stride - t.places
	var next [scatterParts]int
	for i := range part {
		part[i] = scatterPartOf(t.words[i*t.stride:(i+1)*t.stride], masks, dealt)
		next[part[i]]++
	}
	for p, n := range next {
		m.bounds[p+1] = m.bounds[p] + n
		next[p] = m.bounds[p]
	}
	m.order = make([]uint32, len(part))
	for i, p := range part {
		m.order[next[p]] = uint32(i)
		next[p]++
	}
	for _, st := range g.states {
		m.states = append(m.states, st.Partial(0, t.len())...)
	}
	return m
}

// dealtWithin returns what the keys of workers that deal them are among, nothing when some are
// null.
func dealtWithin(workers []*grouper) dealtRange {
	within := noLongs
	for _, g := range workers {
		if g.table.masked {
			return noLongs
		}
		for _, w := range g.table.words {
			within.add(dealtRange{int64(w), int64(w)})
		}
		if g.scatter != nil {
			within.add(g.scatter.within)
		}
	}
	return within
}

// part makes the groups of partition p.
func (s *scattered) part(ctx context.Context, p int) (Operator, error) {
	first := s.workers[0]
	g, err := first.sibling()
	if err != nil {
		return nil, err
	}
	g.account = budget.NewAccount(g.env.Budget)
	if expected := s.expected(p); !s.dealt || !g.table.deal(s.within, expected) {
		g.table.reserve(expected)
	}
	for i, w := range s.workers {
		if err = s.merge(ctx, g, w, &s.mains[i], p); err != nil {
			break
		}
	}
	var op Operator
	if err == nil {
		op, err = g.results(ctx)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return op, nil
}

// expected estimates how many groups partition p has from what became of rows before they were put
// aside.
func (s *scattered) expected(p int) int {
	groups, rows, aside := 0, 0, 0
	for i, w := range s.workers {
		groups, rows = groups+w.table.len(), rows+w.rows
		aside += s.mains[i].bounds[p+1] - s.mains[i].bounds[p]
		if w.scatter != nil {
			aside += w.scatter.rowsIn(p)
		}
	}
	return int(float64(aside) * float64(groups) / float64(max(rows, groups)))
}

// merge moves what a worker has of partition p to g.
func (s *scattered) merge(ctx context.Context, g, w *grouper, main *scatteredMain, p int) error {
	if rows := main.order[main.bounds[p]:main.bounds[p+1]]; len(rows) > 0 {
		before := g.table.len()
		groups := g.table.findWords(w.table, 0, w.table.len(), rows)
		g.grow(before)
		if err := g.mergeStates(gathered(main.states, rows), groups, len(rows)); err != nil {
			return err
		}
	}
	if w.scatter == nil {
		return g.fit(ctx)
	}
	part := &w.scatter.parts[p]
	if made := part.made; made != nil {
		made.table.maskAlike(g.table)
		for lo := 0; lo < made.groups(); lo += absorbRows {
			if err := stop(ctx); err != nil {
				return err
			}
			if err := g.mergeFrom(ctx, made, lo, min(lo+absorbRows, made.groups()), nil); err != nil {
				return err
			}
		}
	}
	for _, c := range part.chunks {
		if err := stop(ctx); err != nil {
			return err
		}
		if err := w.scatter.fold(g, c); err != nil {
			return err
		}
		if err := g.fit(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.scatter.release(p)
	if part.made != nil {
		w.scatter.groups -= part.made.bytes()
		part.made = nil
	}
	w.account.TrySet(w.bytes())
	return g.fit(ctx)
}

// groupSource yields the groups of the parts that it takes.
type groupSource struct {
	parts *groupParts
	// finish, if not nil, is what remains to be done with each batch.
	finish func(*vector.Batch) *vector.Batch
	// taken, if not nil, is told the number of each part that is begun.
	taken   func(number int)
	present Operator
}

func (s *groupSource) onTake(f func(number int)) { s.taken = f }

func (s *groupSource) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if s.present == nil {
			op, number, err := s.parts.take(ctx)
			if err != nil {
				return nil, err
			}
			if op == nil {
				return nil, io.EOF
			}
			if s.present = op; s.taken != nil {
				s.taken(number)
			}
		}
		b, err := s.present.Next(ctx)
		if errors.Is(err, io.EOF) {
			s.parts.done(s.present)
			s.present = nil
			continue
		}
		if err != nil || s.finish == nil {
			return b, err
		}
		return s.finish(b), nil
	}
}

// Close is part of Operator; whoever has the parts closes them.
func (s *groupSource) Close() {}
