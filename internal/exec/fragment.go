package exec

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Fragment is the part of a plan that runs next to the segments of its one scan, by the operators
// that would run it here: a chain over the scan, or one with a sort or an aggregation on it. What
// many servers give is merged by the operator that would have merged the results of this process's
// workers.
type Fragment struct {
	// Plan has one Scan. Right sides of its joins are constant rows.
	Plan plan.Node
	// Need says which columns of Plan are looked at, nil: all. What is not may come as nulls.
	Need []bool
	// Groups says that Plan is an Aggregate whose groups are wanted as keys and intermediate values
	// (see groupsOut).
	Groups bool
	// Streamed says that the rows come in an order that is the same whenever the fragment runs over
	// the same segments: a stream that broke can go on elsewhere behind the rows that were given.
	// Others are of use only when they are whole.
	Streamed bool
	// Far, if not nil, is told by who runs the fragment what the operators did there.
	Far *FarProfile
}

// Cluster knows which segments are held by other servers.
type Cluster interface {
	// Split returns the visible segments of a scan that this process reads, acquired as Tables does
	// it, and who reads the others; nil: there are none.
	Split(ctx context.Context, scan *plan.Scan, columns []string) (here []Leaf, there Remote, err error)
}

// Remote are the segments of one scan that other servers read.
type Remote interface {
	// Open begins a fragment on all of them and returns a stream of rows for each part. ctx bounds
	// what the streams do. Each is read by one goroutine at a time; the caller closes all.
	Open(ctx context.Context, f *Fragment) ([]Operator, error)
}

// leaves returns the segments of a scan that are read here, and who reads the others.
func (e *Env) leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]Leaf, Remote, error) {
	switch {
	case e.Cluster != nil:
		return e.Cluster.Split(ctx, scan, columns)
	case e.Tables == nil:
		return nil, nil, fault.Unsupported("Datasource [%s] can't be read here", scan.DataSource)
	}
	leaves, err := e.Tables.Leaves(ctx, scan, columns)
	return leaves, nil, err
}

// BuildFragment makes the operators of a fragment that another process asked for.
func BuildFragment(ctx context.Context, f *Fragment, env *Env) (Operator, error) {
	env = env.withDefaults(ctx).needing(f.Need)
	if env.Profile != nil {
		env.Profile.begin(env)
	}
	return begin(ctx, env, func(ctx context.Context) (op Operator, _ *sharing, err error) {
		switch {
		case f.Groups:
			own := env.profiling(f.Plan)
			if op, err = buildGroupsOut(ctx, f.Plan, own); err == nil {
				op = own.profile.over(op)
			}
		case f.Streamed:
			op, err = buildStreamed(ctx, f.Plan, env)
		default:
			op, err = build(ctx, f.Plan, env)
		}
		return op, nil, err
	})
}

// buildStreamed makes a chain whose rows come in the order of the segments. A join that would not
// fit in memory changes that order.
func buildStreamed(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	p, op, err := open(ctx, node, env)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		op.Close()
		return nil, fault.ResourceLimit("The right side of a join does not fit in the memory of a server that holds segments of the query")
	}
	return lent(newGather(p)), nil
}

// maxSentBytes is the size of a join's right side up to which it is sent to where the left side's
// segments are, once to each server. A larger one waits here for the rows of the left side.
const maxSentBytes = 8 << 20

// sendable reports whether a join can run next to the segments of its left side.
func (b *joinBuild) sendable() bool { return b.table.rows.Bytes() <= maxSentBytes }

// fragment returns the chain as a plan for other servers.
func (p *Pipeline) fragment() plan.Node {
	var node plan.Node = p.scan
	for _, s := range p.steps {
		switch n := s.node.(type) {
		case *plan.Join:
			right := &plan.Inline{Out: n.Right.Columns(), Rows: s.build.table.rows}
			node = plan.WithInputs(n, []plan.Node{node, right})
		default:
			node = plan.WithInputs(n, []plan.Node{node})
		}
	}
	return node
}

// nodes returns the nodes of the chain as fragment has them, the uppermost first, above those of
// others.
func (p *Pipeline) nodes(above ...plan.Node) []plan.Node {
	for _, s := range slices.Backward(p.steps) {
		above = append(above, s.node)
	}
	return append(above, p.scan)
}

// limited reports whether the chain's scan stops after some rows of all servers together: only who
// gathers them can count.
func (p *Pipeline) limited() bool { return p.there != nil && p.scan.Limit >= 0 }

// openParts is open for those who merge what each worker and server makes of its part.
func openParts(ctx context.Context, node plan.Node, env *Env) (*Pipeline, Operator, error) {
	p, op, err := open(ctx, node, env)
	if p != nil && p.limited() {
		return nil, lent(newGather(p)), nil
	}
	return p, op, err
}

// farRows yields the rows of a fragment, one server's after the other's.
type farRows struct {
	remote   Remote
	fragment *Fragment
	streams  []Operator
	at       int
	begun    bool

	taking struct {
		sync.Mutex
		taken []bool // of streams
	}
}

// ready is a stream that says whether all its rows are there.
type ready interface{ Ready() bool }

// take gives a stream that nobody has taken, one that is there if there is one; false: all are. It
// is for several goroutines.
func (o *farRows) take() (Operator, bool) {
	o.taking.Lock()
	defer o.taking.Unlock()
	if o.taking.taken == nil {
		o.taking.taken = make([]bool, len(o.streams))
	}
	next := slices.Index(o.taking.taken, false)
	if next < 0 {
		return nil, false
	}
	for i, s := range o.streams {
		if r, ok := s.(ready); ok && !o.taking.taken[i] && r.Ready() {
			next = i
			break
		}
	}
	o.taking.taken[next] = true
	return farRun{o.streams[next]}, true
}

// begin lets the servers start.
func (o *farRows) begin(ctx context.Context) (err error) {
	if !o.begun {
		o.begun = true
		o.streams, err = o.remote.Open(withoutSlot(ctx), o.fragment)
	}
	return err
}

func (o *farRows) Next(ctx context.Context) (*vector.Batch, error) {
	if err := o.begin(ctx); err != nil {
		return nil, err
	}
	for o.at < len(o.streams) {
		b, err := farRun{o.streams[o.at]}.Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		o.at++
	}
	return nil, io.EOF
}

func (o *farRows) Close() {
	for _, s := range o.streams {
		s.Close()
	}
}

// runs returns the streams one by one, for merging.
func (o *farRows) runs() []Operator {
	out := make([]Operator, len(o.streams))
	for i, s := range o.streams {
		out[i] = farRun{s}
	}
	return out
}

// farRun is the stream of one server. Who waits for it does not compute.
type farRun struct{ stream Operator }

func (o farRun) Next(ctx context.Context) (b *vector.Batch, err error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	err = idle(ctx, func() error {
		b, err = o.stream.Next(ctx)
		return err
	})
	return b, err
}

func (o farRun) Close() {}

// owned yields batches of its own that stay valid.
type owned struct {
	input Operator
	types []vector.Type
}

func (o *owned) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.input.Next(ctx)
	if err != nil {
		return nil, err
	}
	copied := vector.NewBatchBuilder(o.types, b.Rows())
	copied.Append(b)
	return copied.Build(), nil
}

func (o *owned) Close() { o.input.Close() }

// farOrdered gives the rows of a scan that is spread over servers in the order of time.
type farOrdered struct {
	*sorting
	here Operator
	far  *farRows
	out  Operator
}

func (o *farOrdered) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if err := o.far.begin(ctx); err != nil {
			return nil, err
		}
		runs := append(o.far.runs(), &owned{o.here, o.types})
		o.out = &limitOp{input: o.merge(runs), count: o.limit}
	}
	return o.out.Next(ctx)
}

func (o *farOrdered) Close() {
	o.here.Close()
	o.far.Close()
}
