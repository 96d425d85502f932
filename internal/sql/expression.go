package sql

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// exprs binds the expressions of one clause of a block.
type exprs struct {
	*block
	// clause is its name, for messages.
	clause string
	// aggregates and windows tell whether such calls may stand here.
	aggregates, windows bool
	// aliases makes a name of the select list come before a column, fallback after all columns.
	aliases, fallback bool
	// inAggregate and inWindow are set inside the arguments of such a call, around is its place.
	inAggregate, inWindow bool
	// inGrouping is set inside GROUPING, whose arguments are bound like the keys of groups.
	inGrouping bool
	around     fault.Span
	// expanding are the aliases being expanded, against an alias that names itself.
	expanding *syntax.SelectItem
}

// exprs returns a binder for a clause that allows columns and scalar calls only.
func (blk *block) exprs(clause string) exprs { return exprs{block: blk, clause: clause} }

// condition binds what must be BOOLEAN.
func (x exprs) condition(e syntax.Expr) (expr.Expr, error) {
	cond, err := x.bind(e)
	if err != nil {
		return nil, err
	}
	switch cond.Type().Base {
	case expr.Boolean:
		return cond, nil
	case expr.Null:
		return &expr.Literal{T: expr.Of(expr.Boolean)}, nil
	}
	return nil, fault.InvalidSQL(e.Span(), "%s clause must be a condition", x.clause)
}

// list binds several expressions.
func (x exprs) list(list []syntax.Expr) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(list))
	for i, e := range list {
		bound, err := x.bind(e)
		if err != nil {
			return nil, err
		}
		out[i] = bound
	}
	return out, nil
}

// bind gives e its meaning over the block's scope. Aggregates, windows and subqueries come back as
// placeholders.
func (x exprs) bind(e syntax.Expr) (expr.Expr, error) {
	if err := x.b.count(e); err != nil {
		return nil, err
	}
	out, err := x.bindNode(e)
	if err != nil {
		return nil, fault.WithPosition(err, e.Span())
	}
	return expr.WithoutValues(out), nil
}

func (x exprs) bindNode(e syntax.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *syntax.Name:
		return x.name(e)
	case *syntax.Number, *syntax.String, *syntax.Bool, *syntax.Null, *syntax.Temporal:
		return x.literal(e)
	case *syntax.Unknown:
		return &expr.Literal{T: expr.Of(expr.Boolean)}, nil
	case *syntax.Interval:
		return intervalLiteral(e)
	case *syntax.Param:
		if l := x.b.params[e.Index]; l.Value != nil {
			return l, nil
		}
		return &expr.Literal{T: expr.Of(expr.Null)}, nil
	case *syntax.Unary:
		return x.unary(e)
	case *syntax.Binary:
		return x.binary(e)
	case *syntax.Chain:
		return x.chain(e)
	case *syntax.Is:
		return x.is(e)
	case *syntax.Between:
		return x.between(e)
	case *syntax.InList:
		return x.inList(e)
	case *syntax.Like:
		return x.like(e)
	case *syntax.Case:
		return x.caseOf(e)
	case *syntax.Cast:
		return x.cast(e)
	case *syntax.Call:
		return x.call(e)
	case *syntax.Array:
		return x.array(e)
	case *syntax.Item:
		return x.item(e)
	case *syntax.Subquery:
		return x.scalarSubquery(e)
	case *syntax.Exists:
		return x.exists(e)
	case *syntax.InQuery:
		return x.inQuery(e)
	case *syntax.Quantified:
		return x.quantified(e)
	case *syntax.Star:
		return nil, unexpectedStar(e)
	case *syntax.Row:
		return nil, fault.InvalidSQL(e.At, "A row value is allowed only in IN and in comparisons with row values")
	case *syntax.Field:
		inner, err := x.bind(e.X)
		if err == nil && inner.Type().Base != expr.Row {
			return nil, fault.InvalidSQL(e.At, "Incompatible types")
		}
		if err != nil {
			return nil, err
		}
		return nil, notYet(e.At, "Access to a field of a row")
	case *syntax.Bytes:
		return nil, fault.InvalidSQL(e.At, "Cannot handle a literal of type [BINARY]: there is no such type")
	case *syntax.NamedArg:
		return nil, fault.InvalidSQL(e.At, "Argument [%s] is named, but the function takes its arguments by position", e.Name.Name)
	case *syntax.Symbol:
		return nil, suggest(fault.InvalidSQL(e.At, "Column '%s' not found in any table", e.Word), e.Word, x.scope.columnNames())
	}
	return nil, notYet(e.Span(), "This expression")
}

// count bounds how many expressions a statement binds, which is more than it has where an alias or
// a WITH query is used several times. Constants count as arguments only: lists of them in IN and
// VALUES may be long.
func (b *binder) count(e syntax.Expr) error {
	if isConstant(e) {
		return nil
	}
	switch e := e.(type) {
	case *syntax.Call:
		return b.spend(1+len(e.Args), e)
	case *syntax.Array:
		return b.spend(1+len(e.Items), e)
	case *syntax.Chain:
		return b.spend(1+len(e.Args), e)
	case *syntax.Case:
		return b.spend(1+len(e.Whens), e)
	}
	return b.spend(1, e)
}

func isConstant(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Number, *syntax.String, *syntax.Bool, *syntax.Null, *syntax.Temporal:
		return true
	case *syntax.Unary:
		_, ok := e.X.(*syntax.Number)
		return ok && e.Op == syntax.Neg
	}
	return false
}

// countItems counts the constants of a select list, each of which is a column.
func (b *binder) countItems(items []syntax.SelectItem) error {
	for i := range items {
		if isConstant(items[i].X) {
			if err := b.spend(1, items[i].X); err != nil {
				return err
			}
		}
	}
	return nil
}

// spend counts n expressions or queries more, on behalf of e.
func (b *binder) spend(n int, e syntax.Node) error {
	if b.expressions += n; b.expressions > syntax.MaxExpressions {
		return syntax.TooManyExpressions(e.Span())
	}
	if b.expressions%1024 < n {
		return b.ctx.Err()
	}
	return nil
}

func starText(e *syntax.Star) string {
	if len(e.Parts) == 0 {
		return "*"
	}
	return joinIdents(e.Parts) + ".*"
}

// name resolves a column.
func (x exprs) name(e *syntax.Name) (expr.Expr, error) {
	last := e.Parts[len(e.Parts)-1]
	if len(e.Parts) > 1 {
		return x.qualified(e)
	}
	if x.aliases && !x.inAggregate {
		if bound, err := x.alias(last); bound != nil || err != nil {
			return bound, err
		}
	}
	found, err := x.resolve(last)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return x.mentionAll(found, e.At), nil
	}
	if x.fallback && !x.inAggregate {
		if bound, err := x.alias(last); bound != nil || err != nil {
			return bound, err
		}
	}
	if !last.Quoted && strings.EqualFold(last.Name, "PI") {
		return x.callOf("PI", nil, e.At)
	}
	candidates := x.scope.columnNames()
	if x.aliases || x.fallback {
		for name := range x.block.aliases {
			candidates = append(candidates, name)
		}
	}
	missing := notFound(e.At, last.Name, candidates, "Column '%s' not found in any table", last.Name)
	if last.Quoted && len(e.Parts) == 1 && missing.Context["suggestion"] == "" {
		missing = missing.With("suggestion", "single quotes, if a text is meant: '"+shortened(last.Name)+"'")
	}
	return nil, missing
}

// alias binds the select item called id, nil if there is none.
func (x exprs) alias(id syntax.Ident) (expr.Expr, error) {
	if x.aliases && x.shared[id.Name] {
		return nil, ambiguous(id.Name, id.At)
	}
	it := x.block.aliases[id.Name]
	if it == nil || it == x.expanding {
		return nil, nil
	}
	inner := x
	inner.aliases, inner.fallback, inner.expanding = false, false, it
	return inner.bind(it.X)
}

// qualified resolves t.x.
func (x exprs) qualified(e *syntax.Name) (expr.Expr, error) {
	last, qualifier := e.Parts[len(e.Parts)-1], e.Parts[:len(e.Parts)-1]
	if r := x.scope.relation(qualifier); r != nil {
		if c := r.lookup(last.Name); c != nil {
			if r.count(last.Name) > 1 {
				return nil, ambiguous(last.Name, e.At)
			}
			return x.mention(c, joinIdents(e.Parts), e.At), nil
		}
		names := make([]string, len(r.cols))
		for i := range r.cols {
			names[i] = r.cols[i].name
		}
		return nil, notFound(last.At, last.Name, names, "Column '%s' not found in table '%s'", last.Name, joinIdents(qualifier))
	}
	if x.in.outer != nil {
		outer := x.in.outer.exprs(x.clause)
		bound, err := outer.qualified(e)
		if err != nil {
			return nil, err
		}
		return x.in.corr.column(bound, last.Name), nil
	}
	at, names := e.Parts[0].At.To(qualifier[len(qualifier)-1].At), x.scope.relationNames()
	missing := notFound(at, joinIdents(qualifier), names, "Table '%s' not found", joinIdents(qualifier))
	if slices.ContainsFunc(names, syntax.IsAsof) {
		return nil, missing.With("suggestion", syntax.InsteadOfAsof)
	}
	return nil, missing
}

// resolve finds a column by its bare name, here or in the queries around; nil if there is none.
func (blk *block) resolve(id syntax.Ident) (expr.Expr, error) {
	found, err := blk.scope.lookup(id)
	if found != nil || err != nil || blk.in.outer == nil {
		return found, err
	}
	found, err = blk.in.outer.resolve(id)
	if found == nil || err != nil {
		return nil, err
	}
	return blk.in.corr.column(found, id.Name), nil
}

// mention is where the text names a column, and how.
type mention struct {
	column expr.Column
	at     fault.Span
	name   string
}

// mentionBlock is how many mentions are made at once: they are what a statement has most of.
const mentionBlock = 4

// mention returns the column c as it is named at a place.
func (blk *block) mention(c *expr.Column, name string, at fault.Span) *expr.Column {
	last := len(blk.mentions) - 1
	if last < 0 || len(blk.mentions[last]) == mentionBlock {
		blk.mentions = append(blk.mentions, make([]mention, 0, mentionBlock))
		last++
	}
	list := append(blk.mentions[last], mention{column: *c, at: at, name: name}) // never grown, so that pointers into it stay
	blk.mentions[last] = list
	return &list[len(list)-1].column
}

// mentionOf returns how and where the text names what mention returned; of other columns only the
// name is known.
func (blk *block) mentionOf(c *expr.Column) (name string, at fault.Span) {
	for _, list := range blk.mentions {
		for i := range list {
			if m := &list[i]; &m.column == c {
				return m.name, m.at
			}
		}
	}
	return c.Name, fault.Span{}
}

func (blk *block) mentionAll(e expr.Expr, at fault.Span) expr.Expr {
	if c, ok := e.(*expr.Column); ok {
		return blk.mention(c, c.Name, at)
	}
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return blk.mention(c, c.Name, at)
		}
		return e
	})
}
