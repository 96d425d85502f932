package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// copyArrow copies an Arrow stream and returns the number of rows.
func copyArrow(w io.Writer, body io.Reader) (rows int64, err error) {
	return eachBatch(io.TeeReader(body, w), nil, func(*arrow.Batch) error { return nil })
}

// eachBatch reads an Arrow stream: first, if not nil, is called with its schema.
func eachBatch(body io.Reader, first func(*arrow.Schema) error, each func(*arrow.Batch) error) (rows int64, err error) {
	in := arrow.NewReader(body)
	for {
		b, err := in.Next()
		if first != nil && (err == nil || errors.Is(err, io.EOF)) {
			s, broken := in.Schema()
			if broken == nil {
				broken = first(s)
			}
			if first = nil; broken != nil {
				return rows, broken
			}
		}
		switch {
		case errors.Is(err, io.EOF) && in.Ended():
			return rows, nil
		case err == nil:
			if err := each(b); err != nil {
				return rows, err
			}
			rows += int64(b.Rows)
		case fault.Find(err) == nil || errors.Is(err, io.EOF):
			return rows, errCut
		default:
			return rows, err
		}
	}
}

// printParquet writes the rows of an Arrow stream as a file of Parquet. One that breaks off has no
// end, and nothing reads it.
func printParquet(w io.Writer, body io.Reader) (int64, error) {
	format, err := export.ParseFormat("parquet")
	if err != nil {
		return 0, err
	}
	var file export.File
	var columns []result.Column
	rows, err := eachBatch(body, func(s *arrow.Schema) error {
		for _, f := range s.Fields {
			t, err := typeOfArrow(f.Type)
			if err != nil {
				return fmt.Errorf("column [%s]: %w", f.Name, err)
			}
			columns = append(columns, result.Column{Name: f.Name, Type: t})
		}
		file, err = format.NewFile(w, columns, nil)
		return err
	}, func(b *arrow.Batch) error {
		return file.Batch(batchOfArrow(columns, b))
	})
	if err != nil {
		return rows, err
	}
	return rows, file.Close()
}

// typeOfArrow returns the SQL type of a column of an answer, the inverse of result.ArrowColumns.
func typeOfArrow(t *arrow.Type) (expr.Type, error) {
	switch t.Kind {
	case arrow.Bool:
		return expr.Of(expr.Boolean), nil
	case arrow.Int:
		return expr.Of(expr.BigInt), nil
	case arrow.Float:
		if t.Bits == 32 {
			return expr.Of(expr.Float), nil
		}
		return expr.Of(expr.Double), nil
	case arrow.Timestamp:
		return expr.Of(expr.Timestamp), nil
	case arrow.Date:
		return expr.Of(expr.Date), nil
	case arrow.Utf8, arrow.Binary:
		return expr.Of(expr.Varchar), nil
	case arrow.List:
		elem, err := typeOfArrow(t.Children[0].Type)
		return expr.ArrayOf(elem), err
	}
	return expr.Type{}, fault.Unsupported("Values of Arrow's type %s can't be written", t.Kind)
}

func batchOfArrow(columns []result.Column, b *arrow.Batch) *vector.Batch {
	out := &vector.Batch{N: b.Rows, Cols: make([]*vector.Vector, len(columns))}
	for i, c := range b.Columns {
		build := vector.NewBuilder(columns[i].Type.Runtime(), b.Rows)
		for row := range b.Rows {
			build.Append(boxed(c.Value(row), columns[i].Type))
		}
		out.Cols[i] = build.Build()
	}
	return out
}

// boxed makes a value of a vector of one of Arrow.
func boxed(v any, t expr.Type) any {
	switch x := v.(type) {
	case bool:
		if x {
			return int64(1)
		}
		return int64(0)
	case float64:
		if t.Base == expr.Float {
			return float32(x)
		}
	case []byte: // of sketches, as they are written in every other format
		return base64.StdEncoding.EncodeToString(x)
	case []any:
		for i := range x {
			x[i] = boxed(x[i], t.Elem())
		}
	}
	return v
}
