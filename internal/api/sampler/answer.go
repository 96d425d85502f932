package sampler

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/native"
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
	Warnings []string         `json:"warnings,omitempty"`
}

type columnJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type rowJSON struct {
	Input       *record.Object `json:"input,omitempty"`
	Parsed      *record.Object `json:"parsed,omitempty"`
	Unparseable bool           `json:"unparseable,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// physical are dimensions as segments are said to have them.
func physical(dimensions []spec.Dimension) []spec.Dimension {
	out := slices.Clone(dimensions)
	for i := range out {
		if out[i].MultiValue = "SORTED_ARRAY"; out[i].Type == "spatial" {
			out[i].Type, out[i].Coordinates = "string", nil
		}
	}
	return out
}

// dimensions are the columns of dimensions with the types that they get: of auto ones that
// transforms make, the type of what they make.
func (s *sample) dimensions(ctx context.Context, g *native.Ingestion, input plan.Node, columns *spec.Columns, list []spec.Dimension) ([]plan.Column, error) {
	rows, err := g.Rows(ctx, input)
	if err != nil {
		return nil, err
	}
	made := s.schema.Made()
	var out []plan.Column
	for _, d := range list {
		t := columns.ColumnType(d)
		for _, c := range rows.Columns() {
			if c.Name == d.Name && made[d.Name] && d.Type == "auto" && d.CastTo == "" {
				t = madeType(c.Type)
			}
		}
		out = append(out, plan.Column{Name: d.Name, Type: t})
	}
	return out, nil
}

// madeType is the type of an auto dimension of what a transform makes: texts, where that is always
// null. A field that no record has is a FLOAT, which is not the type of anything else that an
// expression makes.
func madeType(t expr.Type) expr.Type {
	if t.Base == expr.Null || t.Base == expr.Float {
		return expr.Of(expr.Varchar)
	}
	return expr.FromRuntime(t.Runtime(), false)
}

// show makes a row of a record, and says what of it can't be one.
func (s *sample) show(e *entry, g *native.Ingestion, dimensions []spec.Dimension, names []string, b *vector.Batch, row int) (o *record.Object, problems []string) {
	o = &record.Object{}
	made := s.schema.Made()
	for i, v := range b.Cols[:len(b.Cols)-1] {
		switch d := i - 1; {
		case d < 0 && g.Granularity.IsAll():
			o.Add(names[i], int64(0)) // the time of all rows is that of their segment, which there is none of
		case d < 0 || d >= len(dimensions):
			o.Add(names[i], stateOf(v, row))
		case made[names[i]] || names[i] == plan.TimeColumn:
			o.Add(names[i], madeValue(dimensions[d], v, row))
		default:
			field, _ := e.flat.Get(names[i])
			value, problem := valueOf(dimensions[d], field)
			if problem != "" {
				problems = append(problems, problem)
			}
			o.Add(names[i], value)
		}
	}
	return o, append(problems, s.metricProblems(e, made)...)
}

// answer computes the rows of what was read.
func (s *sample) answer(ctx context.Context) (*answer, error) {
	input, columns := s.relation(s.entries)
	out := &answer{Warnings: s.warnings, Read: len(s.entries), Indexed: input.Rows.N, Schema: []columnJSON{{plan.TimeColumn, "LONG"}}, Data: []rowJSON{}}
	logical, dimensions := columns.List()
	out.Logical, out.Physical = logical, physical(dimensions)
	g, err := s.ingestion()
	if err != nil {
		return nil, err
	}
	if g.Dimensions, err = s.dimensions(ctx, g, input, columns, dimensions); err != nil {
		return nil, err
	}
	made := s.schema.Made()
	for i, d := range dimensions {
		t := columns.StoredType(d)
		if made[d.Name] {
			t = g.Dimensions[i].Type
		}
		out.Schema = append(out.Schema, columnJSON{d.Name, schemaType(t)})
	}
	parsed := make(map[int64]*record.Object, input.Rows.N)
	node, err := g.Translate(ctx, input)
	if err != nil {
		return nil, err
	}
	all := node.Columns()
	for i, c := range all[1+len(g.Dimensions) : len(all)-1] {
		t := c.Type
		if _, of, ok := s.schema.Metrics[i].Number(); ok && of == expr.Float && t.Base == expr.Double {
			t = expr.Of(expr.Float) // sums of FLOATs are computed as DOUBLEs and stored as FLOATs
		}
		out.Schema = append(out.Schema, columnJSON{c.Name, schemaType(t)})
	}
	if input.Rows.N > 0 {
		err = s.each(ctx, g, input, func(names []string, b *vector.Batch, row int, order int64) {
			e := &s.entries[order]
			o, problems := s.show(e, g, dimensions, names, b, row)
			if parsed[order] = o; len(problems) > 0 {
				e.error = problemOf(e, out.Physical, problems)
				out.Indexed--
			}
		})
		if err != nil {
			return nil, err
		}
	}
	bytes := int64(0)
	for i, e := range s.entries {
		r := rowJSON{Input: e.input, Parsed: parsed[int64(i)], Unparseable: e.error != "", Error: e.error}
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
