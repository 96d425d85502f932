package explain

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/explain/bindable"
	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql"
)

// Explanation is the row that EXPLAIN PLAN FOR returns.
type Explanation struct {
	Plan, Resources, Attributes string
}

// Columns are the columns of EXPLAIN PLAN FOR.
var Columns = []sql.Column{
	{Name: "PLAN", Type: expr.Of(expr.Varchar)},
	{Name: "RESOURCES", Type: expr.Of(expr.Varchar)},
	{Name: "ATTRIBUTES", Type: expr.Of(expr.Varchar)},
}

// Of explains a statement as EXPLAIN PLAN FOR does. context is the query context that the explained
// queries show: the context of the statement, and the query ids if they are known. external returns
// the form in which external data is shown; nil: the form in the statement.
func Of(s *sql.Statement, context map[string]any, external func(*plan.External) (*native.Leaf, error)) (Explanation, error) {
	var out Explanation
	var err error
	if out.Plan, err = planText(s, context, external); err != nil {
		return out, err
	}
	type resource struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	list := []resource{}
	for _, r := range s.Resources {
		if r.Type == "SYSTEM_TABLE" {
			continue // only rows of them are guarded, not the tables
		}
		list = append(list, resource{r.Name, r.Type}) // what is read and written is there twice
	}
	text, err := json.Marshal(list)
	if err != nil {
		return out, err
	}
	out.Resources = string(text)
	text, err = json.Marshal(attributesOf(s))
	out.Attributes = string(text)
	return out, err
}

// NativeTypes returns the types of the native queries that EXPLAIN PLAN FOR shows for the
// statement, or none if native queries can't read its tables. The statement is bound again, because
// the plan that runs differs from the plan that is shown.
func NativeTypes(ctx context.Context, s *sql.Statement) ([]string, error) {
	shown, err := s.Shown(ctx)
	if err != nil {
		return nil, err
	}
	delete(shown.Context, "useNativeQueryExplain") // the text form has no types
	text, err := planText(shown, shown.Context, nil)
	if err != nil || readsSystem(shown.Plan) {
		return nil, err
	}
	var queries []struct {
		Query struct {
			Type string `json:"queryType"`
		} `json:"query"`
	}
	if err := json.Unmarshal([]byte(text), &queries); err != nil {
		return nil, err
	}
	types := make([]string, len(queries))
	for i, q := range queries {
		types[i] = q.Query.Type
	}
	return types, nil
}

// planText is the PLAN column: native queries, or a tree when the statement reads what native
// queries can't.
func planText(s *sql.Statement, context map[string]any, external func(*plan.External) (*native.Leaf, error)) (string, error) {
	env := s.Env()
	names := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		names[i] = c.Name
	}
	if readsSystem(s.Plan) {
		return bindable.Text(unlimited(s), env, names), nil
	}
	shown := maps.Clone(context)
	if shown == nil {
		shown = map[string]any{}
	}
	delete(shown, querycontext.BySegment.Key()) // results of single segments are none of a statement
	if t := s.Target; t != nil {
		granularity, err := json.Marshal(segmentGranularityJSON(t.Granularity))
		if err != nil {
			return "", err
		}
		shown[querycontext.InsertGrain.Key()] = string(granularity)
		if chunks := overwriteText(t.Overwrite); chunks != "" {
			shown[querycontext.ReplacedChunks.Key()] = chunks
		}
	}
	text := querycontext.NativeExplain.In(s.Context)
	asText := text == false || text == "false"
	var leafErr error
	leaf := func(n plan.Node) *native.Leaf {
		x, ok := n.(*plan.External)
		if !ok || external == nil {
			return nil
		}
		out, err := external(x)
		leafErr = errors.Join(leafErr, err)
		return out
	}
	o := native.Options{Context: shown, Expr: env, Names: names, Tasks: s.Engine == sql.MSQ, Text: asText, Leaf: leaf}
	queries, err := native.Translate(s.Plan, o)
	if err = errors.Join(err, leafErr); err != nil {
		return "", err
	}
	if asText {
		return queries.Text()
	}
	return queries.JSON()
}

// unlimited is the plan of a statement without the limit that its context sets, which plans over
// system tables don't show.
func unlimited(s *sql.Statement) plan.Node {
	if s.Unlimited != nil {
		return s.Unlimited
	}
	return s.Plan
}

// readsSystem reports whether a plan reads tables that the process computes.
func readsSystem(n plan.Node) bool {
	found := false
	plan.Walk(n, func(n plan.Node) bool {
		if x, ok := n.(*plan.System); ok && x.Schema != string(sql.SchemaLookup) {
			found = true
		}
		return !found
	})
	return found
}

// attributes are the members of the ATTRIBUTES column.
type attributes struct {
	StatementType     string   `json:"statementType"`
	TargetDataSource  string   `json:"targetDataSource,omitempty"`
	PartitionedBy     any      `json:"partitionedBy,omitempty"`
	ClusteredBy       []string `json:"clusteredBy,omitempty"`
	ReplaceTimeChunks string   `json:"replaceTimeChunks,omitempty"`
}

func attributesOf(s *sql.Statement) attributes {
	out := attributes{StatementType: s.Kind.String()}
	if _, ok := s.Plan.(*plan.Export); ok {
		out.TargetDataSource = "EXTERN"
	}
	if t := s.Target; t != nil {
		out.TargetDataSource, out.PartitionedBy, out.ClusteredBy = t.DataSource, segmentGranularityJSON(t.Granularity), t.ClusteredBy
		out.ReplaceTimeChunks = overwriteText(t.Overwrite)
	}
	return out
}

// segmentGranularityJSON is a granularity as it shows in JSON: {"type":"all"} or a name.
func segmentGranularityJSON(g chrono.Granularity) any {
	if g.IsAll() {
		return map[string]string{"type": "all"}
	}
	return g.String()
}

// overwriteText is "all" or the intervals that a REPLACE replaces, "" for an INSERT.
func overwriteText(list []chrono.Interval) string {
	if len(list) == 1 && list[0] == chrono.Eternity {
		return "all"
	}
	texts := make([]string, len(list))
	for i, iv := range list {
		texts[i] = iv.String()
	}
	return strings.Join(texts, ",")
}
