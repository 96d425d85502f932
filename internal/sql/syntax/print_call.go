package syntax

import "strings"

// call writes a call and the clauses behind it.
func (w *printer) call(c *Call) {
	if c.Niladic {
		w.put(c.Name)
		return
	}
	for _, part := range c.Qualifier {
		w.ident(part)
		w.put(".")
	}
	form := c.form()
	w.callName(c, form)
	w.put("(")
	w.callArgs(c, form)
	if c.OrderBy != nil {
		w.put(" ORDER BY ")
		w.order(c.OrderBy)
	}
	if c.JSON != nil {
		w.jsonClauses(c.JSON)
	}
	w.put(")")
	w.put([...]string{"", " RESPECT NULLS", " IGNORE NULLS"}[c.Nulls])
	if c.WithinGroup != nil {
		w.put(" WITHIN GROUP (ORDER BY ")
		w.order(c.WithinGroup)
		w.put(")")
	}
	if c.Filter != nil {
		w.put(" FILTER (WHERE ")
		w.expr(c.Filter, precNone)
		w.put(")")
	}
	if c.Over != nil {
		w.put(" OVER ")
		w.window(c.Over)
	}
}

// callForm is how the arguments of a call are written.
type callForm uint8

const (
	formPlain    callForm = iota // a, b
	formQuoted                   // a, b where the bare name would want another form
	formExtract                  // unit FROM a
	formTo                       // a TO unit
	formTrim                     // BOTH a FROM b
	formPosition                 // a IN b FROM c
	formObject                   // KEY a VALUE b
	formSpecial                  // a, b as one of the special calls takes them
)

// form tells which form c has, from its name and arguments.
func (c *Call) form() callForm {
	k := lookupKeyword(c.Name)
	if len(c.Qualifier) > 0 || specialArgs(k) == nil {
		return formPlain
	}
	n := len(c.Args)
	if c.Distinct || n == 0 || c.OrderBy != nil && k != kwJsonArray && k != kwJsonArrayagg {
		if n == 0 && (k == kwJsonObject || k == kwJsonArray) && !c.Distinct && c.OrderBy == nil {
			return formSpecial
		}
		return formQuoted
	}
	for _, a := range c.Args {
		switch a.(type) {
		case *NamedArg, *Default, *Star:
			return formQuoted
		}
	}
	_, firstIsSymbol := c.Args[0].(*Symbol)
	switch k {
	case kwExtract:
		if firstIsSymbol && n == 2 {
			return formExtract
		}
		return formQuoted
	case kwTimestampadd, kwTimestampdiff:
		if firstIsSymbol && n > 1 {
			return formSpecial
		}
		return formQuoted
	case kwFloor, kwCeil, kwCeiling:
		if n == 2 {
			if _, ok := c.Args[1].(*Symbol); ok {
				return formTo
			}
		}
	case kwTrim:
		if firstIsSymbol && (n == 2 || n == 3) {
			return formTrim
		}
	case kwPosition:
		if n <= 3 {
			return formPosition
		}
		return formQuoted
	case kwJsonObject, kwJsonObjectagg:
		if n%2 == 0 {
			return formObject
		}
		return formQuoted
	}
	return formSpecial
}

func (w *printer) callName(c *Call, form callForm) {
	bare := form != formQuoted && isPlainWord(c.Name)
	if form == formPlain && len(c.Qualifier) == 0 {
		switch k := lookupKeyword(c.Name); k {
		case kwLeft, kwRight:
		case kwRow, kwTryCast, kwSafeCast, kwRollup, kwCube:
			bare = false
		default:
			bare = bare && (!k.isReserved() || isNiladic(k))
		}
	} else if form == formPlain {
		bare = bare && !IsReserved(c.Name)
	}
	if bare {
		w.put(c.Name)
		return
	}
	w.put(`"`, strings.ReplaceAll(c.Name, `"`, `""`), `"`)
}

func (w *printer) callArgs(c *Call, form callForm) {
	switch form {
	case formExtract:
		w.expr(c.Args[0], precNone)
		w.put(" FROM ")
		w.expr(c.Args[1], precNone)
	case formTo:
		// Behind an interval of one unit TO would go on with it.
		if v, ok := rightmost(c.Args[0]).(*Interval); ok && v.To == "" {
			w.parens(c.Args[0])
		} else {
			w.expr(c.Args[0], precNone)
		}
		w.put(" TO ")
		w.expr(c.Args[1], precNone)
	case formTrim:
		last := len(c.Args) - 1
		w.expr(c.Args[0], precNone)
		if last == 2 {
			w.put(" ")
			// BOTH before a sign or NOT would be a column.
			if _, prefixed := leftmost(c.Args[1]).(*Unary); prefixed {
				w.parens(c.Args[1])
			} else {
				w.expr(c.Args[1], precNone)
			}
		}
		w.put(" FROM ")
		w.expr(c.Args[last], precNone)
	case formPosition:
		for i, a := range c.Args {
			w.put([...]string{"", " IN ", " FROM "}[i])
			if i < 2 {
				w.expr(a, precLike+1)
			} else {
				w.expr(a, precNone)
			}
		}
	case formObject:
		for i, a := range c.Args {
			switch {
			case i%2 == 1:
				w.put(" VALUE ")
			case i > 0:
				w.put(", KEY ")
			default:
				w.put("KEY ")
			}
			w.notAs(a, precNone, kwValue)
		}
	default:
		if c.Distinct {
			w.put("DISTINCT ")
		}
		w.each(len(c.Args), ", ", func(i int) {
			if i == 0 && form == formSpecial {
				w.notAs(c.Args[i], precNone, kwBoth, kwLeading, kwTrailing)
				return
			}
			w.expr(c.Args[i], precNone)
		})
	}
}

// jsonClauses writes the clauses with a blank before each.
func (w *printer) jsonClauses(j *JSONClauses) {
	if j.Returning != nil {
		w.put(" RETURNING ")
		w.typeName(j.Returning)
	}
	w.put([...]string{"", " WITHOUT WRAPPER", " WITH WRAPPER", " WITH CONDITIONAL WRAPPER"}[j.Wrapper])
	if j.OnEmpty != nil {
		w.put(" ")
		w.jsonBehavior(j.OnEmpty)
		w.put(" ON EMPTY")
	}
	if j.OnError != nil {
		w.put(" ")
		w.jsonBehavior(j.OnError)
		w.put(" ON ERROR")
	}
	w.put([...]string{"", " NULL ON NULL", " ABSENT ON NULL"}[j.Null])
}

func (w *printer) jsonBehavior(b *JSONBehavior) {
	w.put([...]string{"ERROR", "NULL", "EMPTY ARRAY", "EMPTY OBJECT", "TRUE", "FALSE", "UNKNOWN", "DEFAULT "}[b.Kind])
	if b.Kind == JSONDefault {
		w.expr(b.Value, precNone)
	}
}

func (w *printer) windowDef(d *WindowDef) {
	w.ident(d.Name)
	w.put(" AS ")
	w.window(d.Window)
}

func (w *printer) window(v *Window) {
	if v.Bare {
		w.ident(v.Base)
		return
	}
	w.put("(")
	blank := ""
	if v.Base.Name != "" {
		w.ident(v.Base)
		blank = " "
	}
	if v.PartitionBy != nil {
		w.put(blank, "PARTITION BY ")
		w.exprs(v.PartitionBy)
		blank = " "
	}
	if v.OrderBy != nil {
		w.put(blank, "ORDER BY ")
		w.order(v.OrderBy)
		blank = " "
	}
	if v.Frame != nil {
		w.put(blank)
		w.frame(v.Frame)
	}
	w.put(")")
}

func (w *printer) frame(f *Frame) {
	w.put(f.Unit.String(), " ")
	if f.Between {
		w.put("BETWEEN ")
		w.frameBound(&f.Start)
		w.put(" AND ")
		w.frameBound(&f.End)
	} else {
		w.frameBound(&f.Start)
	}
	w.put([...]string{"", " EXCLUDE NO OTHERS", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[f.Exclude])
}

func (w *printer) frameBound(b *FrameBound) {
	if b.Kind == OffsetPreceding || b.Kind == OffsetFollowing {
		// In parentheses a column called current or unbounded is one.
		if _, isNumber := b.Offset.(*Number); isNumber {
			w.expr(b.Offset, precNone)
		} else {
			w.parens(b.Offset)
		}
		w.put(" ")
	}
	w.put(b.Kind.String())
}
