package broker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/expr"
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

// readerFor tells who may ask for the access of which user: everybody for the own one, and for
// others who may read users and roles. nil: there is no security.
func readerFor(access *auth.Access) func(ctx context.Context, user string) (sql.Reader, error) {
	if access == nil || !access.Limited() {
		return nil
	}
	return func(ctx context.Context, user string) (sql.Reader, error) {
		if user == access.Name() {
			access.Pass()
			return sql.ReaderOf(access), nil
		}
		if err := access.Check(ctx, auth.Reads(auth.Config, "security")); err != nil {
			return sql.Reader{}, err
		}
		return sql.ReaderOf(access.For(user)), nil
	}
}

// explainAccess answers EXPLAIN ACCESS.
func (b *Broker) explainAccess(ctx context.Context, p *Prepared, r *rows) (*rows, error) {
	of := p.access
	if p.AccessOf != of.Name() {
		of = of.For(p.AccessOf)
	}
	needs, err := needsOf(&query.Request{Access: p.access}, p.Statement)
	if err != nil {
		return nil, err
	}
	n := len(needs)
	texts := [3][]string{make([]string, n), make([]string, n), make([]string, n)}
	allowed, rules, shown := make([]int64, n), make([]string, n), vector.FullBitmap(n)
	for i, need := range needs {
		texts[0][i], texts[1][i], texts[2][i] = need.Resource.Name, string(need.Resource.Kind), string(need.Action)
		g, err := of.Grant(ctx, need)
		if err != nil {
			return nil, err
		}
		if g.Allowed {
			allowed[i] = 1
		}
		if rules[i], err = rulesText(g); err != nil {
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
