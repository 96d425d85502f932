package sampler

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// answer is the body of the answer.
type answer struct {
	Read     int              `json:"numRowsRead"`
	Indexed  int              `json:"numRowsIndexed"`
	Logical  []spec.Dimension `json:"logicalDimensions"`
	Physical []spec.Dimension `json:"physicalDimensions"`
	Schema   []columnJSON     `json:"logicalSegmentSchema"`
	Data     []rowJSON        `json:"data"`
}

type columnJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type rowJSON struct {
	Input       *ingest.Object `json:"input,omitempty"`
	Parsed      *ingest.Object `json:"parsed,omitempty"`
	Unparseable bool           `json:"unparseable,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// answer computes the rows of what was read.
func (s *sample) answer(ctx context.Context) (*answer, error) {
	input, columns := s.relation(s.entries)
	out := &answer{Read: len(s.entries), Indexed: input.Rows.N, Schema: []columnJSON{{plan.TimeColumn, "LONG"}}, Data: []rowJSON{}}
	out.Logical, out.Physical = columns.List()
	g, err := s.ingestion()
	if err != nil {
		return nil, err
	}
	multi := map[string]string{}
	for i, d := range out.Physical {
		t := columns.ColumnType(d)
		g.Dimensions = append(g.Dimensions, plan.Column{Name: d.Name, Type: t})
		out.Schema = append(out.Schema, columnJSON{d.Name, schemaType(columns.StoredType(d))})
		if t.Multi {
			multi[d.Name] = out.Physical[i].MultiValue
		}
	}
	parsed := make(map[int64]*ingest.Object, input.Rows.N)
	node, err := g.Translate(ctx, input)
	if err != nil {
		return nil, err
	}
	all := node.Columns()
	for _, c := range all[1+len(g.Dimensions) : len(all)-1] {
		out.Schema = append(out.Schema, columnJSON{c.Name, schemaType(c.Type)})
	}
	if input.Rows.N > 0 {
		err = s.each(ctx, g, input, func(names []string, b *vector.Batch, row int, order int64) {
			o := &ingest.Object{}
			for i, v := range b.Cols[:len(b.Cols)-1] {
				o.Add(names[i], inOrder(ingest.ValueOf(v, row), multi[names[i]]))
			}
			parsed[order] = o
		})
		if err != nil {
			return nil, err
		}
	}
	bytes := int64(0)
	for i, e := range s.entries {
		r := rowJSON{Input: e.input, Parsed: parsed[int64(i)], Unparseable: !e.row(), Error: e.error}
		if r.Parsed == nil && e.row() {
			continue // merged into an earlier one
		}
		if s.limits.answer > 0 {
			text, err := json.Marshal(r)
			if err != nil {
				return nil, err
			}
			if bytes += int64(len(text)); bytes > s.limits.answer {
				break
			}
		}
		out.Data = append(out.Data, r)
	}
	for _, list := range []*[]spec.Dimension{&out.Logical, &out.Physical} {
		if *list == nil {
			*list = []spec.Dimension{}
		}
	}
	return out, nil
}

// schemaType is the name of a column's type as segments have it.
func schemaType(t expr.Type) string {
	if t.Multi {
		return "STRING"
	}
	return t.Runtime().String()
}

// inOrder puts the values of a multi-value string in the order in which they are stored.
func inOrder(v any, handling string) any {
	list, ok := v.([]any)
	if !ok || handling == "" || handling == "ARRAY" {
		return v
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		x, _ := a.(string)
		y, _ := b.(string)
		return strings.Compare(x, y)
	})
	if handling == "SORTED_SET" {
		list = slices.Compact(list)
	}
	return list
}
