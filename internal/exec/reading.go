package exec

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// reading is how a scan is run in this process: it reads the columns of the scan and, behind them,
// what stands at those paths of nested columns that conditions and the projection above ask for.
// Segments may have that as columns of its own, with all that columns have; where one has not, the
// texts are parsed, as JSON_VALUE does. Other servers are sent the scan as it is, and decide for
// themselves.
type reading struct {
	// Scan has columns of paths in Out, called as segments call them, and asks these in Filter.
	*plan.Scan
	own int // columns of Out that are the scan's
	// width is how many columns batches have: those of paths are among them if a projection takes
	// them.
	width int
	// used says which columns are looked at. Others of the scan have texts that are read where a
	// segment has no column of a path.
	used columnSet
}

// readingOf returns how a scan with nothing known above is read.
func readingOf(scan *plan.Scan) *reading {
	r := newReading(scan)
	r.width, r.used = r.own, newColumnSet(r.Scan)
	for i := range r.used {
		r.used[i] = true
	}
	return r
}

// readingUnder returns how the scan under a projection is read, and the projection over that.
func readingUnder(n *plan.Project, scan *plan.Scan) (*reading, *plan.Project) {
	r := newReading(scan)
	over := &plan.Project{Input: r.Scan, Exprs: make([]expr.Expr, len(n.Exprs)), Names: n.Names}
	for i, e := range n.Exprs {
		over.Exprs[i] = r.ask(e)
	}
	r.width, r.used = len(r.Out), newColumnSet(r.Scan).addExpr(r.Filter)
	for _, e := range over.Exprs {
		r.used.addExpr(e)
	}
	return r, over
}

// names are those of the columns that are looked at.
func (r *reading) names() []string {
	out := make([]string, 0, len(r.Out))
	for i, c := range r.Out {
		if r.used[i] {
			out = append(out, c.Name)
		}
	}
	return out
}

// ColumnsRead returns the names of the columns that a plan reads from a scan.
func ColumnsRead(n plan.Node, scan *plan.Scan) []string {
	for {
		if p, ok := n.(*plan.Project); ok && p.Input == scan {
			r, _ := readingUnder(p, scan)
			return r.names()
		}
		inputs := n.Inputs()
		if len(inputs) == 0 {
			return readingOf(scan).names()
		}
		n = inputs[0]
	}
}

func newReading(scan *plan.Scan) *reading {
	widened := *scan
	widened.Out = slices.Clip(scan.Out)
	r := &reading{Scan: &widened, own: len(scan.Out)}
	if scan.Filter != nil {
		r.Filter = r.ask(scan.Filter)
	}
	return r
}

// ask returns e, over the columns of the scan, with columns of paths in place of what finds values
// at them.
func (r *reading) ask(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		column, path, ok := expr.AtPath(x)
		if !ok || !readable(x.Type()) {
			return x
		}
		out := plan.Column{Name: segment.PathName(r.Out[column.Index].Name, path), Type: x.Type()}
		at := r.own + slices.Index(r.Out[r.own:], out)
		if at < r.own {
			at = len(r.Out)
			r.Out = append(r.Out, out)
		}
		return &expr.Column{Index: at, Name: out.Name, T: out.Type}
	})
}

// readable reports whether columns of paths can tell what JSON_VALUE returns as t. What it makes of
// texts as booleans, times and lists depends on more than their values.
func readable(t expr.Type) bool { return !t.Multi && (t.IsCharacter() || t.IsNumeric()) }

// tells reports whether a column of a segment holds what is wanted as column i, if it is cast to
// the type of that.
func (r *reading) tells(i int, info *segment.ColumnInfo) bool {
	if i < r.own || info.Path == "" {
		return i < r.own && info.Path == ""
	}
	want := r.Out[i].Type
	switch info.Type {
	case vector.String:
		return want.IsCharacter() // numbers that are written as strings are another matter
	case vector.Double:
		return want.IsNumeric() || !info.Mixed
	}
	return true
}

// stored returns column i of what is read as a segment has it, nil if it has none that tells it.
func (r *reading) stored(i int, in segment.Reader) (segment.Column, error) {
	c, err := in.Column(r.Out[i].Name)
	if err != nil || c == nil || !r.tells(i, c.Info()) {
		return nil, err
	}
	return c, nil
}

// parsing returns which column of the scan has the texts that column i is found in, and the
// expression that finds it there, over a batch of these alone.
func (r *reading) parsing(i int) (column int, find expr.Expr, err error) {
	name, path, _ := segment.CutPath(r.Out[i].Name)
	column = slices.IndexFunc(r.Out[:r.own], func(c plan.Column) bool { return c.Name == name })
	texts := &expr.Column{Name: name, T: r.Out[column].Type}
	find, err = expr.NewAtPath(texts, path, r.Out[i].Type)
	return column, find, err
}
