package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"

	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/vector"
)

// OpenDatasource reads the rows of an input source of type druid: a scan of the current timeline.
func (b *Broker) OpenDatasource(ctx context.Context, d *ingest.Datasource) (ingest.ObjectReader, error) {
	text, err := json.Marshal(struct {
		QueryType  string          `json:"queryType"`
		DataSource string          `json:"dataSource"`
		Intervals  []string        `json:"intervals"`
		Filter     json.RawMessage `json:"filter,omitempty"`
		Columns    []string        `json:"columns,omitempty"`
	}{"scan", d.Name, []string{d.Interval.String()}, d.Filter, d.Columns})
	if err != nil {
		return nil, fmt.Errorf("asking for the rows of datasource [%s]: %w", d.Name, err)
	}
	q, err := lang.Decode(text)
	if err != nil {
		return nil, err
	}
	session := b.Session()
	p, err := lang.Translate(ctx, q, session)
	if err != nil {
		return nil, err
	}
	rows, err := session.Run(ctx, p.Node, query.NewID())
	if err != nil {
		return nil, err
	}
	out := &datasourceRows{rows: rows}
	for _, c := range rows.Columns() {
		out.names = append(out.names, c.Name)
		value := record.ValueOf
		switch t := c.Type.Runtime(); {
		case t.Kind == vector.KindList && !c.Type.Multi:
			value = record.ArrayOf
		case t.Kind == vector.KindComplex && t != vector.JSON:
			value = record.StateOf
		}
		out.values = append(out.values, value)
	}
	return out, nil
}

// datasourceRows gives rows one by one.
type datasourceRows struct {
	rows  query.Rows
	names []string
	// values are how the vectors of the columns become values.
	values []func(v *vector.Vector, i int) any
	batch  *vector.Batch
	at     int
}

// Next returns the next row.
func (r *datasourceRows) Next(ctx context.Context) (*record.Object, error) {
	for r.batch == nil || r.at == r.batch.N {
		b, err := r.rows.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			return nil, io.EOF
		}
		r.batch, r.at = b.Compact(), 0
	}
	o := &record.Object{}
	for i, v := range r.batch.Cols {
		o.Add(r.names[i], r.values[i](v, r.at))
	}
	r.at++
	return o, nil
}

// Close ends the scan.
func (r *datasourceRows) Close() error {
	r.rows.Close()
	return nil
}
