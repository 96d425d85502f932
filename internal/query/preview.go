package query

import (
	"context"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/result"
)

// Previewer determines what a statement shows to a user.
type Previewer interface {
	Engine
	// Preview binds a statement as the user of its Access sees it, without running it. The result says
	// whether the user has the required permissions; Preview does not enforce them.
	Preview(ctx context.Context, req *Request) (*Preview, error)
}

// Preview is the part of a statement that a user sees, with the reasons.
type Preview struct {
	// Columns are the columns of the result; empty if the user may not run the statement.
	Columns []result.Column
	// Decisions are the decisions about all required permissions.
	Decisions []Decision
	// Tables are the datasources that the statement reads and the user may read.
	Tables []PreviewTable
}

// Decision is the decision about a required permission.
type Decision struct {
	auth.Need
	auth.Grant
}

// PreviewTable is a datasource after access rules are applied.
type PreviewTable struct {
	Name string
	// Rows are conditions; visible rows satisfy at least one of them. Empty: all rows are visible.
	Rows    []*auth.Rule
	Columns []PreviewColumn
}

// PreviewColumn is a column of a datasource; Cover is nil if it is shown unchanged.
type PreviewColumn struct {
	Name, Type string
	Cover      *auth.ColumnRule
}

// Allowed reports whether all required permissions are granted.
func (p *Preview) Allowed() bool {
	for i := range p.Decisions {
		if !p.Decisions[i].Allowed {
			return false
		}
	}
	return true
}

// Needs returns the permissions that were decided.
func (p *Preview) Needs() []auth.Need {
	out := make([]auth.Need, len(p.Decisions))
	for i := range p.Decisions {
		out[i] = p.Decisions[i].Need
	}
	return out
}
