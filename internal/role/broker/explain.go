package broker

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/result"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/vector"
)

// explain answers EXPLAIN PLAN FOR: one row with the plan, the resources and the attributes of the statement (spec/sql.md, section 5.4).
func (b *Broker) explain(p *Prepared, r *rows) (*rows, error) {
	text := expr.Of(expr.Varchar)
	r.columns = []result.Column{{Name: "PLAN", Type: text}, {Name: "RESOURCES", Type: text}, {Name: "ATTRIBUTES", Type: text}}
	resources, err := edge.MarshalJSON(resourceList(p.Resources))
	if err != nil {
		return nil, fmt.Errorf("encoding the resources: %w", err)
	}
	attributes, err := edge.MarshalJSON(attributesOf(p.Statement))
	if err != nil {
		return nil, fmt.Errorf("encoding the attributes: %w", err)
	}
	planText, err := b.planText(p)
	if err != nil {
		return nil, err
	}
	r.op = &oneBatch{&vector.Batch{N: 1, Cols: []*vector.Vector{
		vector.FromStrings([]string{planText}), vector.FromStrings([]string{string(resources)}), vector.FromStrings([]string{string(attributes)}),
	}}}
	return r, nil
}

func (b *Broker) planText(p *Prepared) (string, error) {
	return plan.Format(b.Optimize(p)), nil
}

type resource struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func resourceList(in []sql.Resource) []resource {
	out := []resource{}
	for _, r := range in {
		if x := (resource{r.Name, r.Type}); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// attributes are what a statement is, beside its plan.
type attributes struct {
	StatementType     string          `json:"statementType"`
	TargetDataSource  string          `json:"targetDataSource,omitempty"`
	PartitionedBy     json.RawMessage `json:"partitionedBy,omitempty"`
	ClusteredBy       []string        `json:"clusteredBy,omitempty"`
	ReplaceTimeChunks any             `json:"replaceTimeChunks,omitempty"`
}

func attributesOf(s *sql.Statement) attributes {
	a := attributes{StatementType: s.Kind.String()}
	if s.Target == nil {
		return a
	}
	a.TargetDataSource, a.ClusteredBy = s.Target.DataSource, s.Target.ClusteredBy
	if text, err := s.Target.Granularity.MarshalJSON(); err == nil { // a granularity that was parsed prints
		a.PartitionedBy = text
	}
	if s.Kind == sql.Replace {
		a.ReplaceTimeChunks = "all"
		if !slices.Equal(s.Target.Overwrite, []chrono.Interval{chrono.Eternity}) {
			a.ReplaceTimeChunks = joinIntervals(s.Target.Overwrite)
		}
	}
	return a
}

func joinIntervals(list []chrono.Interval) string {
	var out []byte
	for i, iv := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = iv.Append(out)
	}
	return string(out)
}
