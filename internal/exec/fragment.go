package exec

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/exec/extsort"
	"github.com/hengedb/henge/internal/exec/join"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Fragment is the part of a plan that runs on the servers of the segments of its only scan, with
// the same operators as in this process: a chain over the scan, optionally below a sort or an
// aggregation. The operator that merges the results of local workers also merges the results of
// other servers.
type Fragment struct {
	// Plan has one Scan. The right sides of its joins are constant rows.
	Plan plan.Node
	// Need marks the needed columns of Plan; nil: all. Other columns may be nulls.
	Need []bool
	// Groups: Plan is an Aggregate, and its groups are returned as keys and intermediate values (see
	// groupsOut).
	Groups bool
	// Streamed: the order of the rows is the same whenever the fragment runs over the same segments,
	// so that another server can continue a broken stream after the rows that were returned. The rows
	// of other fragments are used only when they are complete.
	Streamed bool
	// Remote, if not nil, takes what the operators did on the servers that run the fragment.
	Remote *RemoteProfile
}

// Cluster knows the segments of other servers.
type Cluster interface {
	// Split returns the visible segments of a scan that this process reads, acquired as by Tables, and
	// the remote segments, or nil if there are none.
	Split(ctx context.Context, scan *plan.Scan, columns []string) (local []Leaf, remote Remote, err error)
}

// Remote are the segments of one scan that other servers read.
type Remote interface {
	// Open starts a fragment on all of them and returns a stream of rows for each part. The streams
	// end when ctx is done. One goroutine at a time reads a stream; the caller closes all streams.
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

// BuildFragment builds the operators of a fragment that another process requested.
func BuildFragment(ctx context.Context, f *Fragment, env *Env) (Operator, error) {
	env = env.withDefaults(ctx)
	w := wants{need: f.Need}
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
			op, err = buildStreamed(ctx, f.Plan, env, w)
		default:
			op, err = build(ctx, f.Plan, env, w)
		}
		return op, nil, err
	})
}

// buildStreamed makes a chain whose rows come in the order of the segments. A join that would not
// fit in memory changes that order.
func buildStreamed(ctx context.Context, node plan.Node, env *Env, w wants) (Operator, error) {
	p, op, err := open(ctx, node, env, w)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		op.Close()
		return nil, fault.ResourceLimit("The right side of a join does not fit in the memory of a server that holds segments of the query")
	}
	return operator.CheckLifetime(newGather(p)), nil
}

// maxSentBytes is the size of a join's right side up to which it is sent to where the left side's
// segments are, once to each server. A larger one waits here for the rows of the left side.
const maxSentBytes = 8 << 20

// sendable reports whether a join can run next to the segments of its left side.
func sendable(b *join.Build) bool { return b.Rows().Bytes() <= maxSentBytes }

// fragment returns the chain as a plan for other servers.
func (p *Pipeline) fragment() plan.Node {
	var node plan.Node = p.scan
	for _, s := range p.steps {
		switch n := s.node.(type) {
		case *plan.Join:
			right := &plan.Inline{Out: n.Right.Columns(), Rows: s.build.Rows()}
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
func (p *Pipeline) limited() bool { return p.remote != nil && p.scan.Limit >= 0 }

// openParts is open for those who merge what each worker and server makes of its part.
func openParts(ctx context.Context, node plan.Node, env *Env, w wants) (*Pipeline, Operator, error) {
	p, op, err := open(ctx, node, env, w)
	if p != nil && p.limited() {
		return nil, operator.CheckLifetime(newGather(p)), nil
	}
	return p, op, err
}

// remoteRows yields the rows of a fragment, one server's after the other's.
type remoteRows struct {
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
func (o *remoteRows) take() (Operator, bool) {
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
	return remoteRun{o.streams[next]}, true
}

// begin lets the servers start.
func (o *remoteRows) begin(ctx context.Context) (err error) {
	if !o.begun {
		o.begun = true
		o.streams, err = o.remote.Open(scheduler.WithoutSlot(ctx), o.fragment)
	}
	return err
}

func (o *remoteRows) Next(ctx context.Context) (*vector.Batch, error) {
	if err := o.begin(ctx); err != nil {
		return nil, err
	}
	for o.at < len(o.streams) {
		b, err := remoteRun{o.streams[o.at]}.Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		o.at++
	}
	return nil, io.EOF
}

func (o *remoteRows) Close() {
	for _, s := range o.streams {
		s.Close()
	}
}

// runs returns the streams one by one, for merging.
func (o *remoteRows) runs() []Operator {
	out := make([]Operator, len(o.streams))
	for i, s := range o.streams {
		out[i] = remoteRun{s}
	}
	return out
}

// remoteRun is the stream of one server. Who waits for it does not compute.
type remoteRun struct{ stream Operator }

func (o remoteRun) Next(ctx context.Context) (b *vector.Batch, err error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	err = scheduler.Wait(ctx, func() error {
		b, err = o.stream.Next(ctx)
		return err
	})
	return b, err
}

func (o remoteRun) Close() {}

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

// remoteOrdered gives the rows of a scan that is spread over servers in the order of time.
type remoteOrdered struct {
	*extsort.Spec
	local  Operator
	remote *remoteRows
	out    Operator
}

func (o *remoteOrdered) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if err := o.remote.begin(ctx); err != nil {
			return nil, err
		}
		runs := append(o.remote.runs(), &owned{o.local, o.Types})
		o.out = &limitOp{input: o.Merge(runs), count: o.Limit}
	}
	return o.out.Next(ctx)
}

func (o *remoteOrdered) Close() {
	o.local.Close()
	o.remote.Close()
}
