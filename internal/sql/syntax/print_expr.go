package syntax

import (
	"slices"
	"strconv"
	"strings"
)

var operatorText = [...]string{
	Neg: "-", Plus: "+", Not: "NOT ",
	Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%",
	Equal: "=", NotEqual: "<>", Less: "<", LessEqual: "<=", Greater: ">", GreaterEqual: ">=",
	IsDistinct: "IS DISTINCT FROM", IsNotDistinct: "IS NOT DISTINCT FROM",
	Overlaps: "OVERLAPS", Contains: "CONTAINS", Equals: "EQUALS", Precedes: "PRECEDES", Succeeds: "SUCCEEDS",
	ImmediatelyPrecedes: "IMMEDIATELY PRECEDES", ImmediatelySucceeds: "IMMEDIATELY SUCCEEDS",
	And: "AND", Or: "OR", Concat: "||",
}

// String returns the operator as in SQL.
func (op Operator) String() string { return strings.TrimSpace(operatorText[op]) }

var operatorLevel = [...]int{
	Neg: precUnary, Plus: precUnary, Not: precNot,
	Add: precAdd, Sub: precAdd, Mul: precMul, Div: precMul, Mod: precMul,
	Equal: precCompare, NotEqual: precCompare, Less: precCompare, LessEqual: precCompare, Greater: precCompare, GreaterEqual: precCompare,
	IsDistinct: precIs, IsNotDistinct: precIs,
	Overlaps: precLike, Contains: precLike, Equals: precLike, Precedes: precLike, Succeeds: precLike,
	ImmediatelyPrecedes: precLike, ImmediatelySucceeds: precLike,
	And: precAnd, Or: precOr, Concat: precMul,
}

// level returns how tightly the outermost operator of e binds.
func level(e Expr) int {
	switch e := e.(type) {
	case *Unary:
		return operatorLevel[e.Op]
	case *Binary:
		return operatorLevel[e.Op]
	case *Chain:
		return operatorLevel[e.Op]
	case *Is:
		return precIs
	case *Quantified:
		return precCompare
	case *Between, *InList, *InQuery, *Like:
		return precLike
	}
	return precPrimary
}

func (w *printer) exprs(list []Expr) {
	w.each(len(list), ", ", func(i int) { w.expr(list[i], precNone) })
}

// expr writes e, in parentheses if it binds less tightly than least.
func (w *printer) expr(e Expr, least int) {
	if level(e) < least {
		w.parens(e)
		return
	}
	not := func(not bool, word string) string {
		if not {
			return " NOT " + word
		}
		return " " + word
	}
	switch e := e.(type) {
	case *Name:
		w.path(e.Parts)
	case *Star:
		for _, part := range e.Parts {
			w.ident(part)
			w.put(".")
		}
		w.put("*")
		if len(e.Without) > 0 {
			w.put(" EXCLUDE ")
			w.idents(e.Without)
		}
	case *Number:
		w.put(e.Text)
	case *String:
		w.put(QuoteString(e.Value))
	case *Bytes:
		w.put("X'", e.Hex, "'")
	case *Bool:
		w.put(strings.ToUpper(strconv.FormatBool(e.Value)))
	case *Unknown:
		w.put("UNKNOWN")
	case *Null:
		w.put("NULL")
	case *Temporal:
		w.put(e.Kind.String(), " ", QuoteString(e.Text))
	case *Interval:
		w.interval(e)
	case *Param:
		w.put("?")
	case *Default:
		w.put("DEFAULT")
	case *Symbol:
		w.put(e.Word)
	case *NamedArg:
		w.ident(e.Name)
		w.put(" => ")
		w.expr(e.X, precNone)
	case *Unary:
		w.put(operatorText[e.Op])
		if inner, ok := e.X.(*Unary); ok && e.Op != Not && inner.Op != Not { // -- begins a comment
			w.parens(e.X)
			break
		}
		w.expr(e.X, operatorLevel[e.Op])
	case *Binary:
		prec := operatorLevel[e.Op]
		w.expr(e.Left, prec)
		w.put(" ", operatorText[e.Op], " ")
		w.expr(e.Right, prec+1)
	case *Chain:
		w.chain(e)
	case *Is:
		w.expr(e.X, precIs)
		w.put(" IS", not(e.Not, e.Test.String()))
	case *Between:
		w.between(e)
	case *InList:
		w.expr(e.X, precLike)
		w.put(not(e.Not, "IN ("))
		w.exprs(e.List)
		w.put(")")
	case *InQuery:
		w.expr(e.X, precLike)
		w.put(not(e.Not, "IN ("))
		w.query(e.Query)
		w.put(")")
	case *Like:
		w.expr(e.X, precLike)
		w.put(not(e.Not, e.Kind.String()), " ")
		w.expr(e.Pattern, precLike+1)
		if e.Escape != nil {
			w.put(" ESCAPE ")
			w.expr(e.Escape, precLike+1)
		}
	case *Quantified:
		w.quantified(e)
	case *Case:
		w.caseExpr(e)
	case *Cast:
		if e.Safe {
			w.put("TRY_")
		}
		w.put("CAST(")
		w.expr(e.X, precNone)
		w.put(" AS ")
		w.typeName(e.Type)
		w.put(")")
	case *Call:
		w.call(e)
	case *Row:
		w.put("ROW(")
		w.exprs(e.Items)
		w.put(")")
	case *Array:
		w.put("ARRAY[")
		w.exprs(e.Items)
		w.put("]")
	case *Item:
		w.base(e.X)
		w.put("[")
		w.expr(e.Index, precNone)
		w.put("]")
	case *Field:
		if _, isName := e.X.(*Name); isName {
			w.parens(e.X)
		} else {
			w.base(e.X)
		}
		w.put(".")
		w.ident(e.Name)
	case *Subquery:
		w.put("(")
		w.query(e.Query)
		w.put(")")
	case *Exists:
		w.put("EXISTS (")
		w.query(e.Query)
		w.put(")")
	}
}

func (w *printer) parens(e Expr) {
	w.put("(")
	w.expr(e, precNone)
	w.put(")")
}

// base writes what stands before [ or a dot.
func (w *printer) base(e Expr) {
	switch e := e.(type) {
	case *Name:
		// array[1] would be a constructor.
		if last := e.Parts[len(e.Parts)-1]; len(e.Parts) == 1 && !last.Quoted && lookupKeyword(last.Name) == kwArray {
			break
		}
		w.expr(e, precNone)
		return
	case *Call, *Item, *Field, *Subquery, *Array, *Cast:
		w.expr(e, precNone)
		return
	}
	w.parens(e)
}

func (w *printer) interval(v *Interval) {
	w.put("INTERVAL ")
	if v.Negative {
		w.put("-")
	}
	w.put(QuoteString(v.Text), " ", v.From)
	if v.Precision >= 0 {
		w.put("(", strconv.Itoa(v.Precision))
		if v.To == "" && v.Fraction >= 0 {
			w.put(", ", strconv.Itoa(v.Fraction))
		}
		w.put(")")
	}
	if v.To != "" {
		w.put(" TO ", v.To)
		if v.Fraction >= 0 {
			w.put("(", strconv.Itoa(v.Fraction), ")")
		}
	}
}

func (w *printer) chain(c *Chain) {
	prec := operatorLevel[c.Op]
	w.each(len(c.Args), " "+operatorText[c.Op]+" ", func(i int) {
		least := prec
		if inner, ok := c.Args[i].(*Chain); i > 0 || ok && inner.Op == c.Op {
			least++
		}
		w.expr(c.Args[i], least)
	})
}

func (w *printer) between(b *Between) {
	w.expr(b.X, precLike)
	if b.Not {
		w.put(" NOT")
	}
	w.put(" BETWEEN ")
	if b.Symmetric {
		w.put("SYMMETRIC ")
	}
	if b.Symmetric {
		w.expr(b.Low, precLike+1)
	} else {
		w.notAs(b.Low, precLike+1, kwSymmetric, kwAsymmetric)
	}
	w.put(" AND ")
	w.expr(b.High, precLike+1)
}

// notAs writes e where the words given would be read as keywords: in parentheses if it begins with
// one of them.
func (w *printer) notAs(e Expr, least int, words ...keyword) {
	first := leftmost(e)
	name := ""
	switch first := first.(type) {
	case *Name:
		if !first.Parts[0].Quoted {
			name = first.Parts[0].Name
		}
	case *Call:
		name = first.Name
		if len(first.Qualifier) > 0 {
			name = first.Qualifier[0].Name
		}
	}
	if k := lookupKeyword(name); k != kwNone && slices.Contains(words, k) {
		w.parens(e)
		return
	}
	w.expr(e, least)
}

// leftmost returns the operand that e begins with.
func leftmost(e Expr) Expr {
	for {
		switch x := e.(type) {
		case *Binary:
			e = x.Left
		case *Chain:
			e = x.Args[0]
		case *Is:
			e = x.X
		case *Between:
			e = x.X
		case *InList:
			e = x.X
		case *InQuery:
			e = x.X
		case *Like:
			e = x.X
		case *Quantified:
			e = x.X
		case *Item:
			e = x.X
		case *Field:
			e = x.X
		default:
			return e
		}
	}
}

// rightmost returns the operand that e ends with.
func rightmost(e Expr) Expr {
	for {
		switch x := e.(type) {
		case *Unary:
			e = x.X
		case *Binary:
			e = x.Right
		case *Chain:
			e = x.Args[len(x.Args)-1]
		case *Between:
			e = x.High
		case *Like:
			e = x.Pattern
			if x.Escape != nil {
				e = x.Escape
			}
		default:
			return e
		}
	}
}

func (w *printer) quantified(q *Quantified) {
	w.expr(q.X, precCompare)
	w.put(" ", operatorText[q.Op])
	if q.All {
		w.put(" ALL ")
	} else {
		w.put(" ANY ")
	}
	if row, ok := q.Set.(*Row); ok {
		w.put("(")
		w.exprs(row.Items)
		w.put(")")
		return
	}
	w.expr(q.Set, precPrimary)
}

func (w *printer) caseExpr(c *Case) {
	w.put("CASE ")
	if c.Operand != nil {
		w.expr(c.Operand, precNone)
		w.put(" ")
	}
	for i := range c.Whens {
		w.when(&c.Whens[i])
		w.put(" ")
	}
	if c.Else != nil {
		w.put("ELSE ")
		w.expr(c.Else, precNone)
		w.put(" ")
	}
	w.put("END")
}

func (w *printer) when(n *When) {
	w.put("WHEN ")
	w.exprs(n.Conds)
	w.put(" THEN ")
	w.expr(n.Then, precNone)
}
