package sql

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// Reader is the user of a statement, as far as its result depends on the user.
type Reader struct {
	// Rules returns the access rules of the reader for a datasource; if there are none, it sees all of
	// the datasource. nil: it sees all of every datasource.
	Rules func(ctx context.Context, dataSource string) ([]*auth.Rule, error)
	// Attributes and Roles are the values of CURRENT_USER_ATTRIBUTE and CURRENT_ROLES.
	Attributes map[string][]string
	Roles      []string
	// Kept is true if a task stores the rules, so that they may be used for planning.
	Kept bool
}

// ReaderOf returns the reader of an access; a nil access is the process itself.
func ReaderOf(a *auth.Access) Reader {
	if a == nil || !a.Limited() {
		return Reader{}
	}
	r := Reader{Rules: func(ctx context.Context, dataSource string) ([]*auth.Rule, error) {
		g, err := a.Grant(ctx, auth.Reads(auth.Datasource, dataSource))
		return g.Rules, err
	}}
	if id := a.Identity(); id != nil {
		r.Attributes, r.Roles = id.Attributes, a.Roles()
	}
	return r
}

// ReaderOfSeen returns the reader of a task that stores the view of its user.
func ReaderOfSeen(v *auth.Seen) Reader {
	return Reader{
		Rules:      func(_ context.Context, dataSource string) ([]*auth.Rule, error) { return v.Of(dataSource), nil },
		Attributes: v.Attributes, Roles: v.Roles, Kept: true,
	}
}

// Protect returns a plan that reads a datasource as a reader sees it, for plans that are not built
// from SQL. Rules are evaluated in UTC, with the current time now in milliseconds.
func Protect(ctx context.Context, scan *plan.Scan, reader Reader, now int64) (plan.Node, error) {
	r := &Request{Reader: reader, Now: now}
	b := &binder{ctx: ctx, request: r, resources: map[Resource]bool{}, settings: settings{zone: chrono.UTC, now: now}}
	b.env = expr.Context{Zone: chrono.UTC, Now: now, Constants: &expr.Constants{}}
	return b.shown(scan)
}

// shown returns the plan that reads a table as the reader sees it: the rows that meet a condition
// of the rules, without the columns that are hidden and with the masks of those that have one.
//
// The condition is the scan's own filter. A condition of the user that may fail is computed above
// it, so that no error tells of a row that is not shown.
func (b *binder) shown(scan *plan.Scan) (plan.Node, error) {
	if b.request.Reader.Rules == nil {
		return scan, nil
	}
	rules, err := b.request.Reader.Rules(b.ctx, scan.DataSource)
	if err != nil {
		return nil, err
	}
	limits := auth.Together(rules)
	if limits == nil {
		return scan, nil
	}
	if b.request.Engine != Native && !b.request.Reader.Kept {
		return nil, fault.Forbidden("Rules show only a part of datasource [%s] to this user; only tasks that are submitted as SQL statements "+
			"read by rules", scan.DataSource)
	}
	if b.analyzing {
		return nil, fault.Forbidden("Rules show only a part of datasource [%s] to this user; EXPLAIN ANALYZE describes all its rows",
			scan.DataSource)
	}
	of := &ruleBinder{b: b, scan: scan, columns: relationOf(scan.DataSource, scan.Out, 0)}
	guarded := *scan
	if limits.Rows != nil {
		guarded.Guarded = true
		if guarded.Filter, err = of.rows(limits.Rows); err != nil {
			return nil, err
		}
	}
	if len(limits.Columns) == 0 {
		return &guarded, nil
	}
	out := &plan.Project{Input: &guarded}
	for i, c := range scan.Out {
		e := expr.Expr(&expr.Column{Index: i, Name: c.Name, T: c.Type})
		if cover, is := limits.Columns[c.Name]; is {
			if cover.Hide {
				continue
			}
			if e, err = of.mask(cover.Role, c.Name, cover.Mask); err != nil {
				return nil, err
			}
		}
		out.Exprs, out.Names = append(out.Exprs, e), append(out.Names, c.Name)
	}
	if len(out.Exprs) == 0 {
		return nil, fault.Forbidden("Rules hide every column of datasource [%s]", scan.DataSource)
	}
	for name, cover := range limits.Columns {
		if !of.has(name) {
			return nil, of.broken(cover.Role, fmt.Sprintf("there is no column [%s]", name))
		}
	}
	return out, nil
}

// readAs has a statement bound as a user sees it, for EXPLAIN ACCESS.
func (b *binder) readAs(s *Statement, user *syntax.String) error {
	if b.request.ReaderFor == nil {
		return fault.InvalidSQL(user.At, "EXPLAIN ACCESS shows the permissions of users; without security everybody may do everything")
	}
	reader, err := b.request.ReaderFor(b.ctx, user.Value)
	if err != nil {
		return err
	}
	s.AccessOf, b.request.Reader = user.Value, reader
	return nil
}

// ruleBinder binds the expressions of rules over the columns of a table.
type ruleBinder struct {
	b       *binder
	scan    *plan.Scan
	columns relation
}

func (r *ruleBinder) has(name string) bool {
	for _, c := range r.scan.Out {
		if c.Name == name {
			return true
		}
	}
	return false
}

// broken is the refusal of a query by a rule that can't be applied. It tells the role, and what is
// wrong in words that hold no value of the rule.
func (r *ruleBinder) broken(role, why string) error {
	return fault.Forbidden("The rule of role [%s] on datasource [%s] can't be applied: %s", role, r.scan.DataSource, why)
}

func (r *ruleBinder) rows(rules []*auth.Rule) (expr.Expr, error) {
	var terms []expr.Expr
	for _, rule := range rules {
		e, err := r.bind(rule.Role, "rows", rule.Rows)
		if err != nil {
			return nil, err
		}
		switch e.Type().Base {
		case expr.Boolean:
			terms = append(terms, e)
		case expr.Null: // shows no row
		default:
			return nil, r.broken(rule.Role, "its rows are not chosen by a condition")
		}
	}
	switch len(terms) {
	case 0:
		return &expr.Literal{Value: int64(0), T: expr.Of(expr.Boolean)}, nil
	case 1:
		return terms[0], nil
	}
	return &expr.Or{Terms: terms}, nil
}

func (r *ruleBinder) mask(role, column, text string) (expr.Expr, error) {
	return r.bind(role, "the mask of column ["+column+"]", text)
}

// bind gives an expression of a rule its meaning. It may use the columns of the table as they are,
// and no queries, aggregates or parameters.
func (r *ruleBinder) bind(role, what, text string) (expr.Expr, error) {
	parsed, err := syntax.ParseExpr(text)
	if err != nil {
		return nil, r.broken(role, what+": "+reason(err))
	}
	if why := outsideOfRules(parsed); why != "" {
		return nil, r.broken(role, what+": "+why)
	}
	blk := &block{b: r.b, scope: &scope{relations: []relation{r.columns}}}
	e, err := blk.exprs("RULE").bind(parsed)
	if err != nil {
		return nil, r.broken(role, what+": "+reason(err))
	}
	return e, nil
}

func reason(err error) string {
	if f := fault.Find(err); f != nil {
		return f.Message
	}
	return fault.Words(err)
}

// outsideOfRules says what an expression holds that none of a rule may; "": nothing.
func outsideOfRules(e syntax.Expr) (why string) {
	syntax.Walk(e, func(x syntax.Node) bool {
		switch x.(type) {
		case *syntax.Param:
			why = "a rule has no parameters"
		case *syntax.Query:
			why = "a rule can't contain a query"
		}
		return why == ""
	})
	return why
}

// userAttribute binds CURRENT_USER_ATTRIBUTE(name): the first value of what the directory entry or
// the token of the user says under a name, NULL where it says nothing.
func (x exprs) userAttribute(e *syntax.Call) (expr.Expr, error) {
	var name *syntax.String
	if len(e.Args) == 1 {
		name, _ = e.Args[0].(*syntax.String)
	}
	if name == nil {
		return nil, fault.InvalidSQL(e.At, "CURRENT_USER_ATTRIBUTE takes one argument, the name of an attribute as a text")
	}
	if values := x.b.request.Reader.Attributes[name.Value]; len(values) > 0 {
		return stringLiteral(values[0]), nil
	}
	return &expr.Literal{T: expr.Of(expr.Varchar)}, nil
}

// currentRoles binds CURRENT_ROLES(): the names of the roles of the user, an array.
func (x exprs) currentRoles(e *syntax.Call) (expr.Expr, error) {
	if len(e.Args) > 0 {
		return nil, fault.InvalidSQL(e.At, "CURRENT_ROLES takes no arguments")
	}
	roles := make([]any, len(x.b.request.Reader.Roles))
	for i, r := range x.b.request.Reader.Roles {
		roles[i] = r
	}
	return &expr.Literal{Value: roles, T: expr.ArrayOf(expr.Of(expr.Varchar))}, nil
}
