package nativequery

import (
	"context"
	"slices"
	"sort"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/vector"
)

// scanBatch is how many rows one element of a scan's answer has when the query does not say.
const scanBatch = 20480

// inlineSegment is the name that the rows of constants and of other queries have in place of a
// segment.
const inlineSegment = "inline_-146136543-09-08T08:23:32.096Z_146140482-04-24T15:36:27.903Z_dummy_version"

// scanAnswer writes the rows of a scan. Those of each segment are elements of their own, of at most
// size rows, unless the query wants an order: then an element names no segment, save that of all
// rows in the order of time each is an element of its own. Rows that the offset leaves out count as
// rows of their element.
type scanAnswer struct {
	x          *execution
	head, tail []byte // what stands before and behind the rows of an element, without the name of the segment
	// nested are the columns whose type is each segment's own matter, listed the segments by name
	// where there are any, and own is the tail of the segment that was asked for last.
	nested  []string
	listed  map[string]query.Listed
	own     segmentTail
	tailOf  func(stored map[string]*columnAnalysis) []byte
	compact bool
	time    int // the column that says of which segment a row is; -1: all are of one
	shown   int
	size    int64
	skip    int64 // rows still to leave out
	given   int64 // rows that were not

	segments []namedSegment
	segment  int   // of the element, an index of segments; -1: none
	rows     int64 // of the element, with those left out
	open     bool  // an element is written
	written  bool
}

// namedSegment is a segment by the time that is its own; several that share a time have no name.
type namedSegment struct {
	id      string
	visible chrono.Interval
}

func (x *execution) scan(ctx context.Context, q *lang.Scan, p *lang.Plan) error {
	x.out.buf = append(x.out.buf, '[')
	if _, err := x.scanned(ctx, q, p, false); err != nil {
		return err
	}
	x.out.buf = append(x.out.buf, ']')
	return nil
}

// scanUnion gives the rows of several tables, table by table in the order of their names, each with
// the columns that it has.
func (x *execution) scanUnion(ctx context.Context, q *lang.Scan, tables []string) error {
	x.out.buf = append(x.out.buf, '[')
	written, skip, limited := false, q.Offset, q.Limit != nil && *q.Limit > 0
	left := lang.Whole(0)
	if limited {
		left = *q.Limit
	}
	for _, name := range slices.Sorted(slices.Values(tables)) {
		of := *q
		of.DataSource = lang.DataSourceOf{DataSource: &lang.TableSource{Name: name}}
		of.Limit, of.Offset = &left, skip
		p, err := lang.Translate(ctx, &of, x.session)
		if err != nil {
			return err
		}
		a, err := x.scanned(ctx, &of, p, written)
		if err != nil {
			return err
		}
		written, skip = a.written, lang.Whole(a.skip)
		if left -= lang.Whole(a.given); limited && left <= 0 {
			break
		}
		if !limited {
			left = 0
		}
	}
	x.out.buf = append(x.out.buf, ']')
	return nil
}

// scanned writes the elements of a scan; written says that there are some before them.
func (x *execution) scanned(ctx context.Context, q *lang.Scan, p *lang.Plan, written bool) (*scanAnswer, error) {
	a := &scanAnswer{written: written, x: x, compact: q.ResultFormat == "compactedList", time: p.Time, shown: p.Shown, size: scanBatch, skip: int64(q.Offset), segment: -1}
	if q.BatchSize > 0 {
		a.size = int64(q.BatchSize)
	}
	if q.Ordered() && p.Time >= 0 {
		a.size = 1 // rows of several segments that come one by one
	}
	switch {
	case p.Time >= 0:
		a.segments = x.named(q.Parts())
	case !q.Ordered() && !lang.ReadsTables(q.DataSource.DataSource):
		a.segments, a.segment = []namedSegment{{id: inlineSegment}}, 0
	}
	a.head, a.tail = scanHead(q, p, nil)
	a.tailOf = func(stored map[string]*columnAnalysis) []byte {
		_, tail := scanHead(q, p, stored)
		return tail
	}
	x.findNested(a, q, p)
	if err := x.rows(ctx, p.Node, func(c *cells, row int) error { return a.row(ctx, c, row) }); err != nil {
		return nil, err
	}
	return a, a.close(ctx)
}

// named returns the segments that a query reads, by time.
func (x *execution) named(q *lang.Common) []namedSegment {
	var out []namedSegment
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		for _, l := range x.session.List(name, q.When()) {
			out = append(out, namedSegment{l.ID, l.Visible})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].visible.Compare(out[j].visible) < 0 })
	last := 0
	for i := range out {
		if i > 0 && out[i].visible.Start < out[last].visible.End {
			out[last].id, out[last].visible.End = "", max(out[last].visible.End, out[i].visible.End)
			continue
		}
		if i > 0 {
			last++
		}
		out[last] = out[i]
	}
	return out[:min(len(out), last+1)]
}

// at returns the segment that has the rows of time t, -1: none.
func (a *scanAnswer) at(t int64) int {
	if a.segment >= 0 && a.segments[a.segment].visible.ContainsInstant(t) {
		return a.segment
	}
	i := sort.Search(len(a.segments), func(i int) bool { return a.segments[i].visible.End > t })
	if i < len(a.segments) && a.segments[i].visible.ContainsInstant(t) {
		return i
	}
	return -1
}

func (a *scanAnswer) row(ctx context.Context, c *cells, row int) error {
	if a.time >= 0 {
		if s := a.at(c.long(a.time, row)); s != a.segment {
			if err := a.close(ctx); err != nil {
				return err
			}
			a.segment = s
		}
	}
	if a.rows == a.size {
		if err := a.close(ctx); err != nil {
			return err
		}
	}
	a.rows++
	if a.skip > 0 {
		a.skip--
		return nil
	}
	a.given++
	out := a.x.out
	if a.open {
		out.buf = append(out.buf, ',')
	} else {
		a.begin()
	}
	if a.compact {
		out.buf = append(out.buf, '[')
	} else {
		out.buf = append(out.buf, '{')
	}
	for i := range a.shown {
		if !a.compact {
			out.buf = c.member(out.buf, i, row)
			continue
		}
		if i > 0 {
			out.buf = append(out.buf, ',')
		}
		out.buf = c.value(out.buf, i, row)
	}
	if a.compact {
		out.buf = append(out.buf, ']')
	} else {
		out.buf = append(out.buf, '}')
	}
	return out.flushed()
}

// begin writes what stands before the rows of an element.
func (a *scanAnswer) begin() {
	out := a.x.out
	if a.written {
		out.buf = append(out.buf, ',')
	}
	a.open, a.written = true, true
	out.buf = append(out.buf, `{"segmentId":`...)
	if a.segment >= 0 && a.segments[a.segment].id != "" {
		out.buf = appendQuoted(out.buf, a.segments[a.segment].id)
	} else {
		out.buf = append(out.buf, "null"...)
	}
	out.buf = append(out.buf, a.head...)
}

// close ends an element.
func (a *scanAnswer) close(ctx context.Context) error {
	if a.open {
		tail, err := a.segmentTail(ctx)
		if err != nil {
			return err
		}
		a.x.out.buf = append(append(a.x.out.buf, ']'), tail...)
	}
	a.open, a.rows = false, 0
	return nil
}

// segmentTail is what stands behind the rows of a segment.
type segmentTail struct {
	id   string
	text []byte
}

// findNested finds the columns whose types are those that a segment has: where they differ between
// segments, the plan knows only that a column has nested data.
func (x *execution) findNested(a *scanAnswer, q *lang.Scan, p *lang.Plan) {
	if len(a.segments) == 0 || !lang.ReadsTables(q.DataSource.DataSource) {
		return
	}
	for _, c := range p.Node.Columns()[:p.Shown] {
		if c.Type.ComplexName() == "json" {
			a.nested = append(a.nested, c.Name)
		}
	}
	if len(a.nested) == 0 {
		return
	}
	a.listed = map[string]query.Listed{}
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		for _, l := range x.session.List(name, q.When()) {
			a.listed[l.ID] = l
		}
	}
}

// segmentTail returns what stands behind the rows of the element. A segment's nested columns are
// looked into when its first element ends, so that no row waits for those of segments that the scan
// may never come to.
func (a *scanAnswer) segmentTail(ctx context.Context) ([]byte, error) {
	if a.segment < 0 {
		return a.tail, nil
	}
	l, ok := a.listed[a.segments[a.segment].id]
	if !ok {
		return a.tail, nil
	}
	if a.own.id == l.ID {
		return a.own.text, nil
	}
	l.At = 0
	all, err := a.x.described(ctx, analysesRequest{Include: &lang.ColumnSet{Type: "list", Columns: a.nested}}, []query.Listed{l})
	if err != nil {
		return nil, err
	}
	a.own = segmentTail{l.ID, a.tail}
	if len(all) > 0 {
		a.own.text = a.tailOf(all[0].Columns.columns)
	}
	return a.own.text, nil
}

// scanHead makes what stands before and behind the rows of an element. The types of stored columns
// win over those of the plan.
func scanHead(q *lang.Scan, p *lang.Plan, stored map[string]*columnAnalysis) (head, tail []byte) {
	head = append(head, `,"columns":[`...)
	tail = append(tail, `,"rowSignature":[`...)
	for i, c := range p.Node.Columns()[:p.Shown] {
		if i > 0 {
			head, tail = append(head, ','), append(tail, ',')
		}
		head = appendQuoted(head, c.Name)
		tail = appendQuoted(append(tail, `{"name":`...), c.Name)
		if !p.Unknown[c.Name] {
			t := signature(c)
			if own, ok := stored[c.Name]; ok && c.Type.ComplexName() == "json" {
				t = own.TypeSignature
			}
			if d, ok := p.Declared[c.Name]; ok {
				t = d
			}
			if bool(q.Legacy) && c.Name == lang.LegacyTime {
				t = vector.Long.String()
			}
			tail = appendQuoted(append(tail, `,"type":`...), t)
		}
		tail = append(tail, '}')
	}
	return append(head, `],"events":[`...), append(tail, "]}"...)
}

// signature names the native type of a column.
func signature(c plan.Column) string {
	if c.Type.Multi {
		return c.Type.Elem().Runtime().String()
	}
	return c.Type.Runtime().String()
}
