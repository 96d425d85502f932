package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/vector"
)

// accessColumns are the columns of EXPLAIN ACCESS: a row for each permission that the statement
// needs, whether the user has it, and the rules under which, as a JSON array of objects with the
// member role beside those of a rule; NULL: all is shown.
var accessColumns = []sql.Column{
	{Name: "RESOURCE", Type: expr.Of(expr.Varchar)},
	{Name: "TYPE", Type: expr.Of(expr.Varchar)},
	{Name: "ACTION", Type: expr.Of(expr.Varchar)},
	{Name: "ALLOWED", Type: expr.Of(expr.Boolean)},
	{Name: "RULES", Type: expr.Of(expr.Varchar).OrNull(true)},
}

// explained is whose access an EXPLAIN ACCESS is about: of is nil until the statement names a user.
type explained struct{ by, of *auth.Access }

// readerFor returns what a statement asks for the reader that a user is; nil: there is no security.
func (e *explained) readerFor() func(ctx context.Context, user string) (sql.Reader, error) {
	if e.by == nil || !e.by.Limited() {
		return nil
	}
	return e.choose
}

// choose tells who may ask for the access of which user: everybody for the own one, and for others
// who may read users and roles. It is the one place that picks whose access is explained.
func (e *explained) choose(ctx context.Context, user string) (sql.Reader, error) {
	if user == e.by.Name() {
		e.by.Pass()
		e.of = e.by
		return sql.ReaderOf(e.of), nil
	}
	if err := e.by.Check(ctx, auth.Reads(auth.Config, "security")); err != nil {
		return sql.Reader{}, err
	}
	e.of = e.by.For(user)
	return sql.ReaderOf(e.of), nil
}

// decisions decide all that a statement needs.
func decisions(ctx context.Context, of *auth.Access, needs []auth.Need) ([]query.Decision, error) {
	out := make([]query.Decision, len(needs))
	for i, need := range needs {
		g, err := of.Grant(ctx, need)
		if err != nil {
			return nil, err
		}
		out[i] = query.Decision{Need: need, Grant: g}
	}
	return out, nil
}

// explainAccess answers EXPLAIN ACCESS.
func (b *Broker) explainAccess(ctx context.Context, p *Prepared, r *rows) (*rows, error) {
	needs, err := needsOf(&query.Request{Access: p.access}, p.Statement)
	if err != nil {
		return nil, err
	}
	list, err := decisions(ctx, p.explained, needs)
	if err != nil {
		return nil, err
	}
	n := len(list)
	texts := [3][]string{make([]string, n), make([]string, n), make([]string, n)}
	allowed, rules, shown := make([]int64, n), make([]string, n), vector.FullBitmap(n)
	for i, d := range list {
		texts[0][i], texts[1][i], texts[2][i] = d.Resource.Name, string(d.Resource.Kind), string(d.Action)
		if d.Allowed {
			allowed[i] = 1
		}
		if rules[i], err = rulesText(d.Grant); err != nil {
			return nil, err
		}
		if rules[i] == "" {
			shown.Clear(i)
		}
	}
	for _, c := range accessColumns {
		r.columns = append(r.columns, result.Column{Name: c.Name, Type: c.Type})
	}
	last := vector.FromStrings(rules)
	last.Valid = shown
	r.op = &oneBatch{&vector.Batch{N: n, Cols: []*vector.Vector{
		vector.FromStrings(texts[0]), vector.FromStrings(texts[1]), vector.FromStrings(texts[2]), vector.FromLongs(allowed), last,
	}}}
	return r, nil
}

// rulesText returns the rules of a grant as JSON; "": all is shown.
func rulesText(g auth.Grant) (string, error) {
	if !g.Limited() {
		return "", nil
	}
	type ofRole struct {
		Role string `json:"role"`
		*auth.Rule
	}
	var list []ofRole
	for _, rule := range g.Rules {
		list = append(list, ofRole{rule.Role, rule})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encoding the rules of a role: %w", err)
	}
	return string(text), nil
}

// Preview implements query.Previewer.
func (b *Broker) Preview(ctx context.Context, req *query.Request) (*query.Preview, error) {
	lookups := b.o.Lookups.View()
	pinned, err := b.pinOf(ctx, req)
	if err != nil {
		return nil, err
	}
	params, err := decodeParams(req.Parameters)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	maps.Copy(values, b.o.Defaults)
	maps.Copy(values, req.Context)
	s, err := sql.Prepare(ctx, sql.Request{
		Text: req.SQL, Params: params, Context: values, Catalog: b.catalog(pinned, lookups), Now: clock.Millis(b.o.Clock), Zone: b.o.Zone,
		Engine: sql.Native, Dialect: req.Dialect, Lookups: mappings(lookups), Reader: sql.ReaderOf(req.Access),
	})
	if err != nil {
		return nil, err
	}
	if s.Explain || s.Analyze || s.AccessOf != "" {
		return nil, fault.InvalidInput("A preview takes the statement itself, without EXPLAIN")
	}
	needs, err := needsOf(req, s)
	if err != nil {
		return nil, err
	}
	out := &query.Preview{}
	if out.Decisions, err = decisions(ctx, req.Access, needs); err != nil {
		return nil, err
	}
	for i := range out.Decisions {
		d := &out.Decisions[i]
		if d.Allowed && d.Resource.Kind == auth.Datasource && d.Action == auth.Read {
			out.Tables = append(out.Tables, b.previewed(pinned, d))
		}
	}
	if out.Allowed() {
		for _, c := range s.Columns {
			out.Columns = append(out.Columns, result.Column{Name: c.Name, Type: c.Type})
		}
	}
	return out, nil
}

// previewed describes a datasource as the rules of a decision show it.
func (b *Broker) previewed(p pin, d *query.Decision) query.PreviewTable {
	t, limits := query.PreviewTable{Name: d.Resource.Name}, auth.Together(d.Rules)
	if limits != nil {
		t.Rows = limits.Rows
	}
	for _, c := range b.schemas.of(t.Name, p).columns {
		column := query.PreviewColumn{Name: c.Name, Type: c.Type.String()}
		if limits != nil {
			if cover, is := limits.Columns[c.Name]; is {
				column.Cover = &cover
			}
		}
		t.Columns = append(t.Columns, column)
	}
	return t
}
