package wire

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// The tags of nodes. They are never given again to something else.
const (
	noNode = iota
	tagScan
	tagInline
	tagExternal
	tagSystem
	tagFilter
	tagProject
	tagAggregate
	tagSort
	tagLimit
	tagJoin
	tagUnion
	tagSetOp
	tagUnnest
	tagWindow
)

func nodeTag(n plan.Node) uint64 {
	switch n.(type) {
	case *plan.Scan:
		return tagScan
	case *plan.Inline:
		return tagInline
	case *plan.External:
		return tagExternal
	case *plan.System:
		return tagSystem
	case *plan.Filter:
		return tagFilter
	case *plan.Project:
		return tagProject
	case *plan.Aggregate:
		return tagAggregate
	case *plan.Sort:
		return tagSort
	case *plan.Limit:
		return tagLimit
	case *plan.Join:
		return tagJoin
	case *plan.Union:
		return tagUnion
	case *plan.SetOp:
		return tagSetOp
	case *plan.Unnest:
		return tagUnnest
	case *plan.Window:
		return tagWindow
	}
	return noNode
}

// Encode returns the bytes of a plan.
func Encode(n plan.Node) ([]byte, error) {
	c := &coder{}
	c.node(&n)
	if c.err == nil && len(c.out) > maxBytes {
		return nil, fault.ResourceLimit("A plan of [%d] bytes is larger than can be sent to another process", len(c.out))
	}
	return c.out, c.err
}

// Fingerprint returns bytes that are equal only for equal plans. It also reports whether the plan
// is deterministic: it does not call functions that depend on the time, on randomness or on
// lookups. If the plan cannot be encoded, it returns an error.
func Fingerprint(n plan.Node) (key []byte, fixed bool, err error) {
	c := &coder{results: true}
	c.node(&n)
	return c.out, !c.varies, c.err
}

// Decode decodes a plan, which must take all of b. The plan does not retain b.
func Decode(b []byte) (plan.Node, error) {
	c := &coder{reading: true, in: b}
	if len(b) > maxBytes {
		c.fail("A plan can't be read: it is too large")
	}
	var n plan.Node
	c.node(&n)
	if c.err == nil && len(c.in) > 0 {
		c.fail("A plan can't be read: bytes are left over")
	}
	if c.err == nil {
		check(c, n)
	}
	return n, c.err
}

// as returns p's node as a T to write, or a new one in p's place to read.
func as[T any, P interface {
	*T
	plan.Node
}](c *coder, p *plan.Node) *T {
	if !c.reading {
		return (*T)((*p).(P))
	}
	x := new(T)
	*p = P(x)
	return x
}

func (c *coder) node(p *plan.Node) {
	if !c.enter() {
		return
	}
	defer c.leave()
	tag := uint64(noNode)
	if !c.reading {
		tag = nodeTag(*p)
	}
	c.uint(&tag)
	if c.err != nil {
		return
	}
	switch tag {
	case noNode:
		c.fail("Plan node [%T] can't be sent to another process", *p)
	case tagScan:
		x := as[plan.Scan](c, p)
		c.text(&x.DataSource)
		c.columns(&x.Out)
		list(c, &x.Intervals, c.interval)
		c.expr(&x.Filter)
		integer(c, &x.Limit)
		integer(c, &x.Time)
	case tagInline:
		x := as[plan.Inline](c, p)
		c.columns(&x.Out)
		c.batch(&x.Rows)
	case tagExternal:
		x := as[plan.External](c, p)
		c.raw(&x.Source)
		c.raw(&x.Format)
		c.columns(&x.Out)
		c.columns(&x.Declared)
	case tagSystem:
		x := as[plan.System](c, p)
		c.text(&x.Schema)
		c.text(&x.Table)
		c.columns(&x.Out)
	case tagFilter:
		x := as[plan.Filter](c, p)
		c.node(&x.Input)
		c.operand(&x.Cond)
	case tagProject:
		x := as[plan.Project](c, p)
		c.node(&x.Input)
		list(c, &x.Exprs, c.operand)
		list(c, &x.Names, c.text)
	case tagAggregate:
		x := as[plan.Aggregate](c, p)
		c.node(&x.Input)
		integers(c, &x.Keys)
		list(c, &x.Sets, func(s *[]int) { integers(c, s) })
		c.bool(&x.Grouping)
		list(c, &x.Aggs, c.aggregate)
		c.order(&x.Order)
	case tagSort:
		x := as[plan.Sort](c, p)
		c.node(&x.Input)
		c.order(&x.Keys)
		integer(c, &x.Offset)
		integer(c, &x.Limit)
	case tagLimit:
		x := as[plan.Limit](c, p)
		c.node(&x.Input)
		integer(c, &x.Offset)
		integer(c, &x.Count)
	case tagJoin:
		x := as[plan.Join](c, p)
		integer(c, &x.Kind)
		c.node(&x.Left)
		c.node(&x.Right)
		list(c, &x.Keys, func(k *plan.EquiKey) {
			integer(c, &k.Left)
			integer(c, &k.Right)
			c.bool(&k.NullSafe)
		})
		c.expr(&x.On)
	case tagUnion:
		x := as[plan.Union](c, p)
		list(c, &x.Ins, c.node)
		c.columns(&x.Out)
	case tagSetOp:
		x := as[plan.SetOp](c, p)
		integer(c, &x.Kind)
		c.bool(&x.All)
		c.node(&x.Left)
		c.node(&x.Right)
	case tagUnnest:
		x := as[plan.Unnest](c, p)
		c.node(&x.Input)
		list(c, &x.Lists, func(l *plan.UnnestList) {
			integer(c, &l.Column)
			c.text(&l.Name)
			c.typ(&l.Elem)
		})
		c.bool(&x.Outer)
		c.bool(&x.Ordinality)
	case tagWindow:
		x := as[plan.Window](c, p)
		c.node(&x.Input)
		integers(c, &x.Partition)
		c.order(&x.Order)
		list(c, &x.Calls, c.windowCall)
	default:
		c.fail("A plan of a newer release can't be read: node [%d] is unknown", tag)
	}
}

func (c *coder) columns(p *[]plan.Column) {
	list(c, p, func(x *plan.Column) {
		c.text(&x.Name)
		c.typ(&x.Type)
	})
}

func (c *coder) interval(p *chrono.Interval) {
	integer(c, &p.Start)
	integer(c, &p.End)
}

func (c *coder) order(p *[]plan.SortKey) {
	list(c, p, func(k *plan.SortKey) {
		integer(c, &k.Column)
		c.bool(&k.Desc)
		c.bool(&k.NullsFirst)
	})
}

func (c *coder) aggregate(p *plan.AggCall) {
	c.spec(&p.Agg)
	integers(c, &p.Args)
	integer(c, &p.Filter)
	c.bool(&p.Distinct)
	c.text(&p.Name)
	c.typ(&p.Type)
}

// spec leaves Merging out of what is sent: that gives intermediate values, of which whoever asked
// makes results. Where the bytes stand for results, it is in.
func (c *coder) spec(p *agg.Spec) {
	c.text(&p.Name)
	list(c, &p.Args, c.physical)
	list(c, &p.Params, c.value)
	c.bool(&p.Keep)
	if c.results {
		integer(c, &p.Merging)
	}
}

func (c *coder) windowCall(p *plan.WindowCall) {
	c.text(&p.Fn)
	c.aggregate(&p.AggCall)
	c.bool(&p.IgnoreNulls)
	f := &p.Frame
	for _, b := range []*bool{&f.Range, &f.Groups, &f.FromUnbounded, &f.ToUnbounded} {
		c.bool(b)
	}
	integer(c, &f.FromOffset)
	integer(c, &f.ToOffset)
	integer(c, &f.FromColumn)
	integer(c, &f.ToColumn)
	integer(c, &f.Exclude)
	c.bool(&f.Values)
}

func (c *coder) raw(p *json.RawMessage) {
	text := string(*p)
	c.text(&text)
	if c.reading && text != "" {
		*p = json.RawMessage(text)
	}
}

// batch codes constant rows: how many there are, and if they have columns, as frames.
func (c *coder) batch(p **vector.Batch) {
	rows, frame := 0, ""
	if !c.reading {
		rows = (*p).Rows()
		b, err := vector.AppendFrame(nil, *p)
		if err != nil {
			c.err = err
			return
		}
		frame = string(b)
	}
	integer(c, &rows)
	c.text(&frame)
	if !c.reading || c.err != nil {
		return
	}
	b, n, err := vector.DecodeFrame([]byte(frame))
	if err != nil {
		c.err = err
		return
	}
	if n != len(frame) || b.N != rows {
		c.fail("A plan can't be read: its constant rows are damaged")
		return
	}
	*p = b
}
