package nativequery

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// execution is one query on its way to its answer.
type execution struct {
	session  query.Session
	id       string
	settings map[string]any
	out      *answer
	history  int64        // how far a segmentMetadata query without intervals looks, in milliseconds
	zone     *chrono.Zone // in which the times of buckets are shown; nil: UTC
	// longTimes says that times are shown as numbers.
	longTimes bool
	// stamp is the time that the answers about ends show in place of these; nil: they show the ends.
	stamp *int64
}

// answer writes the answer of q.
func (x *execution) answer(ctx context.Context, q lang.Query) error {
	switch q := q.(type) {
	case *lang.SegmentMetadata:
		if err := x.whole(ctx, "segmentMetadata", q.DataSource.DataSource); err != nil {
			return err
		}
		return x.segmentMetadata(ctx, q)
	case *lang.DataSourceMetadata:
		if err := x.whole(ctx, "dataSourceMetadata", q.DataSource.DataSource); err != nil {
			return err
		}
		return x.dataSourceMetadata(ctx, q)
	case *lang.Scan:
		if tables := lang.UnitedTables(q.DataSource.DataSource); tables != nil && !q.Ordered() {
			return x.scanUnion(ctx, q, tables)
		}
	}
	p, err := lang.Translate(ctx, q, x.session)
	if err != nil {
		return err
	}
	switch q := q.(type) {
	case *lang.Timeseries:
		return x.timeseries(ctx, q, p)
	case *lang.TopN:
		return x.topN(ctx, q, p)
	case *lang.GroupBy:
		return x.groupBy(ctx, q, p)
	case *lang.Scan:
		return x.scan(ctx, q, p)
	case *lang.Search:
		return x.search(ctx, q, p)
	case *lang.TimeBoundary:
		return x.timeBoundary(ctx, q, p)
	}
	return fault.Unsupported("Query is of a type that is not supported")
}

// whole refuses a query about what is stored where the user sees a part of it only.
func (x *execution) whole(ctx context.Context, queryType string, d lang.DataSource) error {
	for _, name := range lang.ScannedTables(d) {
		switch whole, err := x.session.Whole(ctx, name); {
		case err != nil:
			return err
		case !whole:
			return fault.Forbidden("Rules show only a part of datasource [%s] to this user; a query of type [%s] describes all its rows",
				name, queryType)
		}
	}
	return nil
}

// cells writes values of batches as JSON.
type cells struct {
	columns []plan.Column
	names   [][]byte // quoted, with the colon
	writers []*result.Writer
	batch   *vector.Batch
	one     vector.Batch
}

func newCells(columns []plan.Column) *cells {
	c := &cells{columns: columns}
	for _, col := range columns {
		t := col.Type
		if t.IsTime() || t.Base == expr.Boolean || t.IsInterval() {
			t = expr.Of(expr.BigInt)
		}
		c.names = append(c.names, append(appendQuoted(nil, col.Name), ':'))
		c.writers = append(c.writers, result.NewWriter(io.Discard, []result.Column{{Name: col.Name, Type: t}}, result.Options{Format: result.Array}))
	}
	return c
}

// value appends the value of a column.
func (c *cells) value(dst []byte, column, row int) []byte {
	v := c.batch.Cols[column]
	if t := c.columns[column].Type; t.Multi && v.Type.Kind == vector.KindList {
		if v.Type.Elem().Kind != vector.KindString {
			return appendNumbers(dst, v, row)
		}
		return appendMulti(dst, v, row)
	}
	if c.columns[column].Type.ComplexName() == "json" {
		return appendJSON(dst, v, row)
	}
	if c.columns[column].Type.Base == expr.Other {
		return appendSketch(dst, v, row)
	}
	c.one = vector.Batch{N: c.batch.N, Cols: append(c.one.Cols[:0], v)}
	at := len(dst)
	dst = c.writers[column].AppendRow(dst, &c.one, row)
	return append(dst[:at], dst[at+1:len(dst)-1]...) // without the brackets of the row
}

// appendJSON appends nested data as what it is, where SQL's formats would show its text.
func appendJSON(dst []byte, v *vector.Vector, row int) []byte {
	if v.Const {
		row = 0
	}
	switch {
	case v.Valid != nil && !v.Valid.Get(row):
		return append(dst, "null"...)
	case !json.Valid([]byte(v.Strings[row])): // made by an expression that is no JSON
		return appendQuoted(dst, v.Strings[row])
	}
	return append(dst, v.Strings[row]...)
}

// appendSketch appends a complex value as base64, and what a sketch was finished to as the JSON it
// is.
func appendSketch(dst []byte, v *vector.Vector, row int) []byte {
	if v.IsNull(row) {
		return append(dst, "null"...)
	}
	text := v.StringAt(row)
	if sketch.IsText(text) && json.Valid([]byte(text)) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(text))
	return append(dst, '"')
}

// appendMulti appends a multi-value string: null, one text or a list.
func appendMulti(dst []byte, v *vector.Vector, row int) []byte {
	v = v.Flat()
	from, to := v.Offsets[row], v.Offsets[row+1]
	if v.Valid != nil && !v.Valid.Get(row) || from == to {
		return append(dst, "null"...)
	}
	item := func(i uint32) {
		child := v.Child.Flat()
		if child.Valid != nil && !child.Valid.Get(int(i)) {
			dst = append(dst, "null"...)
			return
		}
		dst = appendQuoted(dst, child.Strings[i])
	}
	if to-from == 1 {
		item(from)
		return dst
	}
	dst = append(dst, '[')
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		item(i)
	}
	return append(dst, ']')
}

// appendNumbers appends the numbers that a function has made of the values of a multi-value string:
// always a list, of a NULL if there is no value.
func appendNumbers(dst []byte, v *vector.Vector, row int) []byte {
	list, ok := v.ValueAt(row).([]any)
	if !ok || len(list) == 0 {
		list = []any{nil}
	}
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch x := x.(type) {
		case int64:
			dst = strconv.AppendInt(dst, x, 10)
		case float64:
			if math.IsNaN(x) || math.IsInf(x, 0) {
				dst = appendQuoted(dst, string(expr.AppendDouble(nil, x)))
			} else {
				dst = expr.AppendDouble(dst, x)
			}
		default:
			dst = append(dst, "null"...)
		}
	}
	return append(dst, ']')
}

// member appends "name":value, with a comma before it unless it is the first of an object.
func (c *cells) member(dst []byte, column, row int) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return c.value(append(dst, c.names[column]...), column, row)
}

// time returns column 0 of a row, a time.
func (c *cells) time(row int) int64 { return c.long(0, row) }

// long returns a time or whole number of a row.
func (c *cells) long(column, row int) int64 {
	v := c.batch.Cols[column]
	if v.Const {
		row = 0
	}
	return v.Longs[row]
}

// rows runs a plan and calls f for each row, with the values in c.
func (x *execution) rows(ctx context.Context, node plan.Node, f func(c *cells, row int) error) error {
	rows, err := x.session.Run(ctx, node, x.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	c := newCells(node.Columns())
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if b.Sel != nil {
			b = b.Compact()
		}
		c.batch = b
		for i := range b.N {
			if err := f(c, i); err != nil {
				return err
			}
		}
		if err := x.out.flushed(); err != nil {
			return err
		}
	}
}

func appendQuoted(dst []byte, s string) []byte {
	text, err := jsontext.Marshal(s)
	if err != nil { // text encodes
		return strconv.AppendQuote(dst, s)
	}
	return append(dst, text...)
}

func appendTime(dst []byte, ms int64) []byte { return appendTimeIn(dst, ms, chrono.UTC) }

func appendTimeIn(dst []byte, ms int64, zone *chrono.Zone) []byte {
	dst = append(dst, '"')
	dst = chrono.AppendMillis(dst, ms, zone)
	return append(dst, '"')
}

// showBuckets makes times of buckets be shown in the zone of the granularity that makes them.
func (x *execution) showBuckets(g lang.GranularitySet) {
	if g.Given && !g.IsAll() {
		x.zone = g.Zone()
	}
}

func (x *execution) appendBucket(dst []byte, ms int64) []byte {
	if x.zone == nil || x.longTimes {
		return x.appendMoment(dst, ms)
	}
	return appendTimeIn(dst, ms, x.zone)
}

// bool reads a switch of the query context.
func (x *execution) bool(p *querycontext.Param[bool]) (bool, error) { return p.Or(x.settings, false) }
