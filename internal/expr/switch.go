package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// manyArms is from how many arms on that compare one expression with constants a table finds the
// arm of a row.
const manyArms = 4

// switchNode is a CASE in which several arms, one after the other, ask whether one expression
// equals constants. A table finds the arm of each row at once, and constant results are read from a
// table, too:
//
//	CASE WHEN x = 1 THEN 'a' WHEN x IN (2, 3) THEN 'b'   run of arms
//	     WHEN y > 2 THEN 'c'                             one arm
//	     WHEN x = 4 THEN s .. ELSE 'd' END               run of arms ..
type switchNode struct {
	steps []switchStep
	other node // nil: NULL
	t     vector.Type
	// whole has, where all arms are one run and all results are constants, the result of each arm and
	// then that of ELSE.
	whole *vector.Vector
}

// switchStep is one arm, or a run of them.
type switchStep struct {
	cond, then node
	run        *armRun
}

// armRun is a run of arms.
type armRun struct {
	arm   node   // the number of the row's arm; len(thens): none
	thens []node // nil: the result is in table
	table *vector.Vector
}

// compileSwitch compiles x as a switchNode, nil if it has no run of arms.
func (c *compiler) compileSwitch(x *Case) (node, error) {
	runs := runsOf(x.Whens)
	if runs == nil {
		return nil, nil
	}
	n := &switchNode{t: x.T.Runtime()}
	for at := 0; at < len(x.Whens); {
		if r := runs[at]; r != nil {
			run, err := c.compileRun(r, x.Whens[at:at+r.arms], n.t)
			if err != nil {
				return nil, err
			}
			n.steps = append(n.steps, switchStep{run: run})
			at += r.arms
			continue
		}
		cond, err := c.compile(x.Whens[at].Cond)
		if err != nil {
			return nil, err
		}
		then, err := c.compile(x.Whens[at].Then)
		if err != nil {
			return nil, err
		}
		n.steps = append(n.steps, switchStep{cond: cond, then: then})
		at++
	}
	if x.Else != nil {
		var err error
		if n.other, err = c.compile(x.Else); err != nil {
			return nil, err
		}
	}
	n.whole = wholeTable(x, runs[0])
	return n, nil
}

// wholeTable is switchNode.whole of x, whose first run is r.
func wholeTable(x *Case, r *constantRun) *vector.Vector {
	if r == nil || r.arms < len(x.Whens) {
		return nil
	}
	results := make([]Expr, 0, len(x.Whens)+1)
	for _, w := range x.Whens {
		results = append(results, w.Then)
	}
	if x.Else == nil {
		return constantTable(append(results, &Literal{T: x.T.OrNull(true)}), x.T.Runtime())
	}
	return constantTable(append(results, x.Else), x.T.Runtime())
}

// constantTable returns the values of results, nil if one is not constant.
func constantTable(results []Expr, t vector.Type) *vector.Vector {
	b := vector.NewBuilder(t, len(results))
	for _, e := range results {
		l, ok := e.(*Literal)
		switch {
		case !ok:
			return nil
		case l.Value == nil:
			b.AppendNull()
		default:
			b.Append(runtimeValue(l.Value, t))
		}
	}
	if t == vector.String {
		return encode(b.Build()) // few different texts, which groups and comparisons see once
	}
	return b.Build()
}

func (c *compiler) compileRun(r *constantRun, whens []When, t vector.Type) (*armRun, error) {
	out := &armRun{thens: make([]node, len(whens))}
	results := make([]Expr, len(whens))
	constant := false
	for i, w := range whens {
		if _, ok := w.Then.(*Literal); ok {
			results[i], constant = w.Then, true
			continue
		}
		results[i] = &Literal{T: w.Then.Type().OrNull(true)}
		then, err := c.compile(w.Then)
		if err != nil {
			return nil, err
		}
		out.thens[i] = then
	}
	if constant {
		out.table = constantTable(results, t)
	}
	x, err := c.compile(r.x)
	if err != nil {
		return nil, err
	}
	none := uint32(len(whens))
	arm := &armNode{x: x, table: newArmTable(r.x.Type().Runtime().Kind, r.values, r.of, none)}
	out.arm = arm
	if column, ok := r.x.(*Column); ok && !c.inDict && !c.ctx.Entries && r.x.Type().Runtime() == vector.String {
		out.arm = &dictNode{inner: arm, source: x, slot: c.slot(column.Index), nullable: true}
	}
	return out, nil
}

// armNode is the number of the arm that has the value of x.
type armNode struct {
	x     node
	table *armTable
}

func (n *armNode) eval(f *frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	if v.AllNull() {
		return vector.Constant(vector.Long, int64(n.table.none), f.n), nil
	}
	rows := f.n
	if v.Const {
		rows = min(rows, 1)
	}
	out := make([]int64, rows)
	n.table.find(v, out)
	made := vector.FromLongs(out)
	made.Const, made.Len = v.Const, f.n
	return made, nil
}

// eval computes the steps one after the other, each for the rows that none before took.
func (n *switchNode) eval(f *frame) (*vector.Vector, error) {
	if n.whole != nil {
		arms, err := n.steps[0].run.armsOf(f)
		if err != nil {
			return nil, err
		}
		return n.whole.Gather(arms), nil
	}
	m := merger{t: n.t, n: f.n}
	sel, at := []uint32(nil), f // rows not taken yet; nil: all
	for _, s := range n.steps {
		var hits []uint32
		var err error
		if s.run != nil {
			hits, err = s.run.add(&m, f, at, sel)
		} else {
			hits, err = s.add(&m, f, at, sel)
		}
		if err != nil {
			return nil, err
		}
		if len(hits) == 0 {
			continue
		}
		rest := remaining(at.n, hits, sel)
		if len(rest) == 0 {
			return m.merge(), nil
		}
		sel, at = rest, f.narrow(rest)
	}
	return m.otherwise(n.other, f, sel)
}

// rowsOf returns hits, rows of a frame of which sel says where they are in the frame around, as
// rows of that.
func rowsOf(hits, sel []uint32) []uint32 {
	if sel == nil {
		return hits
	}
	out := make([]uint32, len(hits))
	for k, r := range hits {
		out[k] = sel[r]
	}
	return out
}

// add adds the results of the rows of at that the one arm takes, and returns these.
func (s *switchStep) add(m *merger, f, at *frame, sel []uint32) ([]uint32, error) {
	hits, err := filter(s.cond, at)
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	return hits, m.add(s.then, f, rowsOf(hits, sel))
}

// armsOf returns the arm of each row.
func (r *armRun) armsOf(f *frame) ([]uint32, error) {
	v, err := r.arm.eval(f)
	if err != nil {
		return nil, err
	}
	arms, longs := make([]uint32, f.n), kernel.ColumnOf[int64](v)
	for i := range arms {
		arms[i] = uint32(longs.At(i))
	}
	return arms, nil
}

// add adds the results of the rows of at that some arm takes, and returns these.
func (r *armRun) add(m *merger, f, at *frame, sel []uint32) ([]uint32, error) {
	arms, err := r.armsOf(at)
	if err != nil {
		return nil, err
	}
	none := uint32(len(r.thens))
	var hits, constant, from []uint32
	computed := map[uint32][]uint32{} // by arm, the rows
	var order []uint32
	for i, arm := range arms {
		if arm == none {
			continue
		}
		hits = append(hits, uint32(i))
		if r.thens[arm] == nil {
			constant, from = append(constant, uint32(i)), append(from, arm)
			continue
		}
		if computed[arm] == nil {
			order = append(order, arm)
		}
		computed[arm] = append(computed[arm], uint32(i))
	}
	if len(constant) > 0 {
		m.rows, m.pieces = append(m.rows, rowsOf(constant, sel)), append(m.pieces, r.table.Gather(from))
	}
	for _, arm := range order {
		if err := m.add(r.thens[arm], f, rowsOf(computed[arm], sel)); err != nil {
			return nil, err
		}
	}
	return hits, nil
}
