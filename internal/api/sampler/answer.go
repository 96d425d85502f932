package sampler

import (
	"context"
	"encoding/json"
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
	made := s.schema.Made()
	made[plan.TimeColumn] = true
	for _, d := range out.Physical {
		g.Dimensions = append(g.Dimensions, plan.Column{Name: d.Name, Type: columns.ColumnType(d)})
		out.Schema = append(out.Schema, columnJSON{d.Name, schemaType(columns.StoredType(d))})
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
			e, problems := &s.entries[order], []string(nil)
			for i, v := range b.Cols[:len(b.Cols)-1] {
				switch d := i - 1; {
				case d < 0 && g.Granularity.IsAll():
					o.Add(names[i], int64(0)) // the time of all rows is that of their segment, which there is none of
				case d < 0 || d >= len(out.Physical):
					o.Add(names[i], stateOf(v, row))
				case made[names[i]]:
					o.Add(names[i], inOrder(ingest.ValueOf(v, row), out.Physical[d].MultiValue))
				default:
					field, _ := e.flat.Get(names[i])
					value, problem := valueOf(out.Physical[d], field)
					if problem != "" {
						problems = append(problems, problem)
					}
					o.Add(names[i], value)
				}
			}
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
