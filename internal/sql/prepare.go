package sql

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// Engine is the engine that runs a statement; the engines accept different statements.
type Engine uint8

// The engines.
const (
	// Native runs queries while the client waits.
	Native Engine = iota
	// MSQ runs queries, INSERT and REPLACE as tasks.
	MSQ
)

// String returns the name for users.
func (e Engine) String() string {
	if e == MSQ {
		return "msq-task"
	}
	return "native"
}

// Request is a statement to prepare.
type Request struct {
	Text string
	// Script is the result of syntax.Parse for Text, which only Prepare may use; nil: Prepare parses
	// Text.
	Script *syntax.Script
	Params []Param
	// Context contains the context parameters of the request; SET in the text overrides them.
	Context map[string]any
	Catalog Catalog
	// Now is the time of arrival in milliseconds, for CURRENT_TIMESTAMP unless the context fixes it.
	Now int64
	// Zone is the time zone unless the context has sqlTimeZone; nil: UTC.
	Zone   *chrono.Zone
	Engine Engine
	// Dialect is the product name in the path of the request, "service" if empty. Errors and system
	// tables show it as the default schema.
	Dialect string
	// Describe binds a statement whose parameters have no values, to determine its columns and the
	// types of its parameters.
	Describe bool
	// Lookups supplies the tables of LOOKUP; nil: there are none.
	Lookups expr.Lookups
	// Reader is the user who runs the statement; the zero Reader sees everything.
	Reader Reader
	// ReaderFor returns the reader for a user, for EXPLAIN ACCESS, or an error if that is not
	// permitted; nil: there is no security.
	ReaderFor func(ctx context.Context, user string) (Reader, error)
}

// Param is the value of a ?: a SQL type name and a JSON value (nil, bool, string, json.Number,
// float64, int64, []any).
type Param struct {
	Type  string
	Value any
}

// Kind is the kind of a statement.
type Kind uint8

// The kinds of statements.
const (
	Select Kind = iota
	Insert
	Replace
)

// String returns the SQL verb.
func (k Kind) String() string { return [...]string{"SELECT", "INSERT", "REPLACE"}[k] }

// Statement is a prepared statement.
type Statement struct {
	Kind Kind
	// Engine is the engine that runs the statement.
	Engine Engine
	// Explain is set for EXPLAIN PLAN FOR: Kind, Plan, Columns and Resources are those of the
	// explained statement, which must not be run.
	Explain bool
	// Analyze is set for EXPLAIN ANALYZE: the statement is run, and the result contains its counters,
	// in the form that AsJSON selects.
	Analyze, AsJSON bool
	// AccessOf is the user of EXPLAIN ACCESS, whose statement must not be run either; "" for other
	// statements.
	AccessOf string
	// Plan is not optimized yet. The plan of an INSERT or REPLACE has a plan.Write or plan.Export as
	// its root.
	Plan plan.Node
	// Unlimited is Plan without the limit of sqlOuterLimit in the context; nil: there is no such
	// limit.
	Unlimited plan.Node
	// Columns are the output columns with their output names.
	Columns []Column
	// Resources are the resources that the statement reads and writes, sorted by name.
	Resources []Resource
	// Externals are the input sources of external data, as JSON.
	Externals []json.RawMessage
	// Context is the context of the request with SET applied, and Sets are the keys of SET.
	Context map[string]any
	Sets    []string
	// Now and Zone are the instant of CURRENT_TIMESTAMP and the query's time zone.
	Now  int64
	Zone *chrono.Zone
	// Lookups are the lookups of the request.
	Lookups expr.Lookups
	// Target is set for INSERT and REPLACE of a datasource; an INSERT INTO EXTERN has a plan.Export as
	// its root.
	Target *Target
	// Params are the types of the parameters of a described statement; an unknown type is NULL.
	Params []expr.Type
	// MaxSubqueryRows and MaxSubqueryBytes are for exec.Env.
	MaxSubqueryRows, MaxSubqueryBytes int64
	// request is what the statement was prepared from; Shown binds it again.
	request Request
}

// Column is an output column of a statement.
type Column struct {
	Name string
	Type expr.Type
}

// Target is the target of an INSERT or REPLACE, in the form of reports and EXPLAIN.
type Target struct {
	DataSource string
	// Granularity is the granularity of PARTITIONED BY.
	Granularity chrono.Granularity
	// ClusteredBy are the columns of CLUSTERED BY in their printed form: names, and expressions with
	// quoted names.
	ClusteredBy []string
	// Overwrite are the time chunks that a REPLACE replaces; chrono.Eternity for ALL; nil for INSERT.
	Overwrite []chrono.Interval
}

// Resource is a resource that requires a permission.
type Resource struct {
	Name string
	// Type is DATASOURCE, VIEW, EXTERNAL or SYSTEM_TABLE.
	Type string
	// Write is true if the statement writes the resource, false if it reads it.
	Write bool
}

// Prepare parses and binds a statement. Errors are faults for the user, with a position in the text
// if possible.
func Prepare(ctx context.Context, r Request) (*Statement, error) { return bindText(ctx, r, false) }

// Shown binds the statement again, to a plan in the form of EXPLAIN PLAN FOR.
func (s *Statement) Shown(ctx context.Context) (*Statement, error) {
	return bindText(ctx, s.request, true)
}

// bindText is Prepare. With shown the plan has the form that EXPLAIN PLAN FOR shows, whether or not
// the text asks for it.
func bindText(ctx context.Context, r Request, shown bool) (*Statement, error) {
	script := r.Script
	r.Script = nil // binding may change it, so that another binding parses the text again
	if script == nil {
		var err error
		if script, err = syntax.Parse(r.Text); err != nil {
			return nil, err
		}
		if ctx.Err() != nil { // a long text takes its time
			return nil, context.Cause(ctx)
		}
	}
	var err error
	b := &binder{ctx: ctx, request: &r, catalog: r.Catalog, resources: map[Resource]bool{}, form: running{}}
	if b.settings, err = readSettings(&r, script.Sets); err != nil {
		return nil, err
	}
	if r.Describe {
		b.described = make([]expr.Type, script.Params)
		b.params = make([]*expr.Literal, script.Params)
		for i := range b.params {
			b.described[i] = expr.Of(expr.Null)
			b.params[i] = &expr.Literal{T: expr.Of(expr.Null)}
		}
	} else if b.params, err = b.readParams(script.Params); err != nil {
		return nil, err
	}
	s := &Statement{
		Engine: r.Engine, Context: b.settings.merged, Now: b.settings.now, Zone: b.settings.zone, Lookups: r.Lookups,
		MaxSubqueryRows: b.settings.maxSubqueryRows, MaxSubqueryBytes: b.settings.maxSubqueryBytes,
		request: r,
	}
	b.env = expr.Context{Zone: b.settings.zone, Now: b.settings.now, Lookups: r.Lookups, Constants: &expr.Constants{}}.WithStop(ctx)

	inner := script.Statement
	if x, ok := inner.(*syntax.Explain); ok {
		s.Explain = !x.Analyze
		shown = shown || s.Explain
		if x.User != nil {
			if err := b.readAs(s, x.User); err != nil {
				return nil, err
			}
		}
		s.Analyze, s.AsJSON = x.Analyze, x.Format == syntax.ExplainFormatJSON
		b.analyzing = s.Analyze
		inner = x.Statement
	}
	if shown {
		b.form, b.settings = shownForm{}, b.settings.shown()
	}
	switch x := inner.(type) {
	case *syntax.Query:
		err = b.selectStatement(x, s)
	case *syntax.Insert:
		if s.Analyze {
			return nil, fault.InvalidSQL(x.At, "EXPLAIN ANALYZE takes a query; what INSERT and REPLACE take is in the reports of their tasks")
		}
		err = b.writeStatement(x, s)
	default:
		err = fault.InvalidSQL(x.Span(), "Unsupported SQL statement")
	}
	if err != nil {
		return nil, err
	}
	s.Params, s.Externals = b.described, b.externals
	for _, set := range script.Sets {
		s.Sets = append(s.Sets, set.Name.Name)
	}
	s.Resources = slices.SortedFunc(maps.Keys(b.resources), func(x, y Resource) int {
		if c := strings.Compare(x.Name, y.Name); c != 0 {
			return c
		}
		return strings.Compare(x.Type, y.Type)
	})
	return s, nil
}

// Env returns the context of the expressions of the statement.
func (s *Statement) Env() expr.Context {
	return expr.Context{Zone: s.Zone, Now: s.Now, Lookups: s.Lookups}
}

// binder holds what is one per statement.
type binder struct {
	ctx      context.Context
	request  *Request
	catalog  Catalog
	settings settings
	params   []*expr.Literal
	// described are the types of the parameters, as far as they are known; nil: nobody wants to know.
	described []expr.Type
	resources map[Resource]bool
	externals []json.RawMessage
	depth     int // of queries in queries
	// expansions counts the uses of WITH queries.
	expansions int
	// expressions counts what count counts.
	expressions int
	env         expr.Context
	literals    []expr.Literal // the last block of constants
	// form is which of the plans that a text has is made.
	form form
	// analyzing says that what running the query takes is to be shown.
	analyzing bool
}

// selectStatement binds a query at the top of a statement.
func (b *binder) selectStatement(q *syntax.Query, s *Statement) error {
	s.Kind = Select
	rel, err := b.query(q)
	if err != nil {
		return err
	}
	for _, c := range rel.cols {
		if c.typ.IsInterval() {
			return fault.InvalidSQL(q.Span(), "Column [%s] is of type [%s], which can't be the type of a result", c.name, c.typ)
		}
	}
	n := rel.node
	if limit := b.settings.outerLimit; limit >= 0 {
		s.Unlimited = n
		n = outerLimit(n, limit)
	}
	if n, err = b.finishSketches(n); err != nil {
		return err
	}
	s.Plan = n
	s.Columns = outerColumns(rel.cols)
	return nil
}

// outerLimit caps the rows of n, keeping an offset it has.
func outerLimit(n plan.Node, limit int64) plan.Node {
	switch x := n.(type) {
	case *plan.Sort:
		c := *x
		if c.Limit < 0 || c.Limit > limit {
			c.Limit = limit
		}
		return &c
	case *plan.Limit:
		c := *x
		if c.Count < 0 || c.Count > limit {
			c.Count = limit
		}
		return &c
	}
	return &plan.Limit{Input: n, Count: limit}
}

func outerColumns(cols []outColumn) []Column {
	out := make([]Column, len(cols))
	for i, c := range cols {
		out[i] = Column{Name: c.name, Type: c.typ}
	}
	return out
}
