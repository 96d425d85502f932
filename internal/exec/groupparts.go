package exec

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
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
	isPartitioned, spilled := false, false
	for _, g := range workers {
		if g.table != nil && g != workers[0] {
			workers[0].table.TakeDistinct(g.table)
			g.table.NumberDistinct()
		}
		isPartitioned = isPartitioned || g.partitioner != nil
		spilled = spilled || g.files.used()
	}
	if t := workers[0].table; t != nil {
		t.NumberDistinct()
	}
	switch {
	case spilled:
		return spilledParts(ctx, workers)
	case isPartitioned:
		return partitionedParts(ctx, workers)
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

// partitioned are the groups of workers that partitioned rows.
type partitioned struct {
	workers []*grouper
	mains   []prePartitioned // by worker
	striped bool             // keys are striped over partitions
	within  keys.LongRange   // what they are among then
	mu      sync.Mutex       // held to change what a worker holds, and spare
	// spare are groupers of parts that were read. They have no groups, and memory for those of others.
	spare []*grouper
}

// prePartitioned are the groups a worker had before it partitioned rows.
type prePartitioned struct {
	order  []uint32 // its groups, partition by partition
	bounds [radixPartitions + 1]int
	states []*vector.Vector // intermediate values of all groups
}

func partitionedParts(ctx context.Context, workers []*grouper) (*groupParts, error) {
	s := &partitioned{workers: workers, mains: make([]prePartitioned, len(workers))}
	first := workers[0]
	for _, g := range workers {
		first.table.MaskAlike(g.table)
		s.striped = s.striped || g.partitioner != nil && g.partitioner.of.Striped()
	}
	for i, g := range workers {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		g.table.MaskAlike(first.table)
		s.mains[i] = newPrePartitioned(g, s.striped)
	}
	if s.striped {
		s.within = stripedWithin(workers)
	}
	return &groupParts{n: radixPartitions, takers: radixPartitions, build: s.part, free: func() {
		for _, g := range slices.Concat(workers, s.spare) {
			g.close()
		}
	}}, nil
}

func newPrePartitioned(g *grouper, striped bool) prePartitioned {
	var m prePartitioned
	t := g.table
	part := make([]uint8, t.Len())
	masks := t.Stride - t.KeyWords
	var next [radixPartitions]int
	for i := range part {
		part[i] = radixPartitionOf(t.Words[i*t.Stride:(i+1)*t.Stride], masks, striped)
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
		m.states = append(m.states, st.Partial(0, t.Len())...)
	}
	return m
}

// stripedWithin returns the range of the keys of workers that stripe them, nothing when some are
// null.
func stripedWithin(workers []*grouper) keys.LongRange {
	within := keys.NoLongs
	for _, g := range workers {
		if g.table.Masked {
			return keys.NoLongs
		}
		for _, w := range g.table.Words {
			within.Add(keys.LongRange{Least: int64(w), Greatest: int64(w)})
		}
		if g.partitioner != nil {
			within.Add(g.partitioner.within)
		}
	}
	return within
}

// part makes the groups of partition p.
func (s *partitioned) part(ctx context.Context, p int) (Operator, error) {
	g, err := s.grouper(p)
	if err != nil {
		return nil, err
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
	return &partOp{op, g, s}, nil
}

// grouper returns a grouper for partition p. All partitions have about as many groups.
func (s *partitioned) grouper(p int) (*grouper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		g := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return g, nil
	}
	g, err := s.workers[0].sibling()
	if err != nil {
		return nil, err
	}
	g.account = budget.NewAccount(g.env.Budget)
	if expected := s.expectedGroups(p); !s.striped || !g.table.IndexStripes(s.within, expected) {
		g.table.Reserve(expected)
	}
	return g, nil
}

// partOp yields the groups of a partition. Its batches have memory of their own.
type partOp struct {
	Operator
	g  *grouper
	of *partitioned
}

func (o *partOp) narrowTop(k *topKeys) {
	if op, ok := o.Operator.(narrowing); ok {
		op.narrowTop(k)
	}
}

// Close keeps the memory of the groups for the next partition.
func (o *partOp) Close() {
	if !o.g.clear() {
		o.Operator.Close()
		return
	}
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.of.spare = append(o.of.spare, o.g)
}

// expectedGroups estimates how many groups partition p has from what became of rows before they
// were partitioned.
func (s *partitioned) expectedGroups(p int) int {
	groups, rows, partitioned := 0, 0, 0
	for i, w := range s.workers {
		groups, rows = groups+w.table.Len(), rows+w.rows
		partitioned += s.mains[i].bounds[p+1] - s.mains[i].bounds[p]
		if w.partitioner != nil {
			partitioned += w.partitioner.rowsIn(p)
		}
	}
	return int(float64(partitioned) * float64(groups) / float64(max(rows, groups)))
}

// merge moves what a worker has of partition p to g.
func (s *partitioned) merge(ctx context.Context, g, w *grouper, main *prePartitioned, p int) error {
	if rows := main.order[main.bounds[p]:main.bounds[p+1]]; len(rows) > 0 {
		before := g.table.Len()
		groups := g.table.FindWords(w.table, 0, w.table.Len(), rows)
		g.grow(before)
		if err := g.mergeStates(gathered(main.states, rows), groups, len(rows)); err != nil {
			return err
		}
	}
	if w.partitioner == nil {
		return g.fit(ctx)
	}
	part := &w.partitioner.parts[p]
	if made := part.made; made != nil {
		made.table.MaskAlike(g.table)
		for lo := 0; lo < made.groups(); lo += keys.AbsorbRows {
			if err := stop(ctx); err != nil {
				return err
			}
			if err := g.mergeFrom(ctx, made, lo, min(lo+keys.AbsorbRows, made.groups()), nil); err != nil {
				return err
			}
		}
	}
	for _, c := range part.chunks {
		if err := stop(ctx); err != nil {
			return err
		}
		if err := w.partitioner.fold(g, c); err != nil {
			return err
		}
		if err := g.fit(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.partitioner.release(p)
	if part.made != nil {
		w.partitioner.groups -= part.made.bytes()
		part.made = nil
	}
	w.account.TrySet(w.bytes())
	return g.fit(ctx)
}

// groupSource yields the groups of the parts that it takes.
type groupSource struct {
	parts *groupParts
	top   *topKeys // see aggregateOp
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
			if o, ok := op.(narrowing); ok && s.top != nil {
				o.narrowTop(s.top)
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

// narrowing yields groups, of which those beyond the last row of a top-N may be left out.
type narrowing interface{ narrowTop(k *topKeys) }

func (s *groupSource) narrowTop(k *topKeys) { s.top = k }

// Close is part of Operator; whoever has the parts closes them.
func (s *groupSource) Close() {}
