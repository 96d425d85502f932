package syntax

// Walk visits n and its descendants, a node before its parts and the parts in the order of the
// text. If visit returns false, the parts of the node are skipped. Identifiers are not visited.
func Walk(n Node, visit func(Node) bool) {
	if visit(n) {
		w := walker{visit}
		w.parts(n)
	}
}

type walker struct{ visit func(Node) bool }

// node walks n, which may be a nil interface.
func (w walker) node(n Node) {
	if n != nil {
		Walk(n, w.visit)
	}
}

// expr walks e, which may be nil.
func (w walker) expr(e Expr) {
	if e != nil {
		Walk(e, w.visit)
	}
}

func (w walker) exprs(list []Expr) {
	for _, e := range list {
		w.expr(e)
	}
}

func (w walker) query(q *Query) {
	if q != nil {
		Walk(q, w.visit)
	}
}

func (w walker) order(list []OrderItem) {
	for i := range list {
		w.node(&list[i])
	}
}

func (w walker) window(v *Window) {
	if v != nil {
		Walk(v, w.visit)
	}
}

func (w walker) typeName(t *TypeName) {
	if t != nil {
		Walk(t, w.visit)
	}
}

func (w walker) names(list []*Name) {
	for _, n := range list {
		w.node(n)
	}
}

func (w walker) columnDefs(list []ColumnDef) {
	for i := range list {
		w.node(&list[i])
	}
}

// parts walks the parts of n.
func (w walker) parts(n Node) {
	switch n := n.(type) {
	case Expr:
		w.exprParts(n)
	case TableExpr:
		w.tableParts(n)
	case GroupItem:
		w.groupParts(n)
	case Body:
		w.bodyParts(n)
	case Statement:
		w.statementParts(n)
	default:
		w.otherParts(n)
	}
}

func (w walker) statementParts(s Statement) {
	switch s := s.(type) {
	case *Query:
		w.bodyParts(s)
	case *Insert:
		if s.Target != nil {
			w.node(s.Target)
		}
		if s.Export != nil {
			w.node(s.Export)
		}
		if s.Overwrite != nil {
			w.node(s.Overwrite)
		}
		w.query(s.Query)
		if s.PartitionedBy != nil {
			w.node(s.PartitionedBy)
		}
		w.order(s.ClusteredBy)
	case *Explain:
		w.node(s.Statement)
	case *Set:
		w.expr(s.Value)
	}
}

func (w walker) bodyParts(b Body) {
	switch b := b.(type) {
	case *Query:
		for i := range b.With {
			w.node(&b.With[i])
		}
		w.node(b.Body)
		w.order(b.OrderBy)
		w.expr(b.Limit)
		w.expr(b.Offset)
	case *Select:
		for i := range b.Items {
			w.node(&b.Items[i])
		}
		w.node(b.From)
		w.expr(b.Where)
		if b.GroupBy != nil {
			w.node(b.GroupBy)
		}
		w.expr(b.Having)
		for i := range b.Windows {
			w.node(&b.Windows[i])
		}
		w.expr(b.Qualify)
	case *Values:
		for _, row := range b.Rows {
			w.node(row)
		}
	case *TableQuery:
		w.node(b.Name)
	case *SetOp:
		for _, arm := range b.Arms {
			w.node(arm)
		}
	}
}

func (w walker) groupItems(list []GroupItem) {
	for _, item := range list {
		w.node(item)
	}
}

func (w walker) groupParts(g GroupItem) {
	switch g := g.(type) {
	case *GroupExpr:
		w.expr(g.X)
	case *GroupTuple:
		w.exprs(g.Items)
	case *Rollup:
		w.groupItems(g.Items)
	case *Cube:
		w.groupItems(g.Items)
	case *GroupingSets:
		w.groupItems(g.Items)
	}
}

func (w walker) tableParts(t TableExpr) {
	switch t := t.(type) {
	case *Table:
		w.node(t.Name)
	case *Derived:
		w.query(t.Query)
	case *TableFunction:
		w.node(t.Call)
		w.columnDefs(t.Columns)
	case *Unnest:
		w.exprs(t.Args)
	case *Join:
		w.node(t.Left)
		w.node(t.Right)
		w.expr(t.On)
	case *Aliased:
		w.node(t.X)
	case *Pivot:
		w.node(t.X)
		for i := range t.Aggregates {
			w.node(&t.Aggregates[i])
		}
		w.names(t.Axes)
		for i := range t.Values {
			w.node(&t.Values[i])
		}
	case *Unpivot:
		w.node(t.X)
		for i := range t.Columns {
			w.node(&t.Columns[i])
		}
	case *TableSample:
		w.node(t.X)
		w.expr(t.Percent)
		w.expr(t.Repeatable)
	}
}

func (w walker) exprParts(e Expr) {
	switch e := e.(type) {
	case *Name, *Star, *Number, *String, *Bytes, *Bool, *Unknown, *Null, *Temporal, *Interval, *Param, *Default, *Symbol:
	case *NamedArg:
		w.expr(e.X)
	case *Unary:
		w.expr(e.X)
	case *Binary:
		w.expr(e.Left)
		w.expr(e.Right)
	case *Chain:
		w.exprs(e.Args)
	case *Is:
		w.expr(e.X)
	case *Between:
		w.expr(e.X)
		w.expr(e.Low)
		w.expr(e.High)
	case *InList:
		w.expr(e.X)
		w.exprs(e.List)
	case *InQuery:
		w.expr(e.X)
		w.query(e.Query)
	case *Like:
		w.expr(e.X)
		w.expr(e.Pattern)
		w.expr(e.Escape)
	case *Quantified:
		w.expr(e.X)
		w.expr(e.Set)
	case *Case:
		w.expr(e.Operand)
		for i := range e.Whens {
			w.node(&e.Whens[i])
		}
		w.expr(e.Else)
	case *Cast:
		w.expr(e.X)
		w.typeName(e.Type)
	case *Call:
		w.exprs(e.Args)
		w.order(e.OrderBy)
		if e.JSON != nil {
			w.node(e.JSON)
		}
		w.order(e.WithinGroup)
		w.expr(e.Filter)
		w.window(e.Over)
	case *Row:
		w.exprs(e.Items)
	case *Array:
		w.exprs(e.Items)
	case *Item:
		w.expr(e.X)
		w.expr(e.Index)
	case *Field:
		w.expr(e.X)
	case *Subquery:
		w.query(e.Query)
	case *Exists:
		w.query(e.Query)
	}
}

// otherParts walks the parts of the nodes that are of no sum type.
func (w walker) otherParts(n Node) {
	switch n := n.(type) {
	case *Export:
		w.node(n.Destination)
	case *Overwrite:
		w.expr(n.Where)
	case *PartitionedBy:
		w.expr(n.Granularity)
	case *CTE:
		w.query(n.Query)
	case *OrderItem:
		w.expr(n.X)
	case *SelectItem:
		w.expr(n.X)
	case *GroupBy:
		w.groupItems(n.Items)
	case *WindowDef:
		w.window(n.Window)
	case *ColumnDef:
		w.typeName(n.Type)
	case *PivotValue:
		w.exprs(n.Items)
	case *UnpivotColumn:
		w.names(n.Columns)
		w.exprs(n.Values)
	case *When:
		w.exprs(n.Conds)
		w.expr(n.Then)
	case *TypeName:
		w.columnDefs(n.Fields)
	case *JSONClauses:
		w.typeName(n.Returning)
		if n.OnEmpty != nil {
			w.node(n.OnEmpty)
		}
		if n.OnError != nil {
			w.node(n.OnError)
		}
	case *JSONBehavior:
		w.expr(n.Value)
	case *Window:
		w.exprs(n.PartitionBy)
		w.order(n.OrderBy)
		if n.Frame != nil {
			w.node(n.Frame)
		}
	case *Frame:
		w.node(&n.Start)
		if n.Between {
			w.node(&n.End)
		}
	case *FrameBound:
		w.expr(n.Offset)
	}
}
