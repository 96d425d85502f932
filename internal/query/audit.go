package query

import (
	"context"

	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// tellOf returns the audit entry of a query that arrives; nil: there is no audit.
func (r *Running) tellOf(ctx context.Context, a *Arrival) *audit.Entry {
	if r.o.Audit == nil {
		return nil
	}
	e := &audit.Entry{
		Kind: audit.Query, Time: r.clock.Now().UnixMilli(), Identity: a.Identity, Address: a.Address, Door: a.Door, QueryID: a.ID,
		Statement: audit.Statement(a.SQL),
	}
	if id := a.Access.Identity(); id != nil {
		e.Means = id.By
	}
	if note := audit.Of(ctx); note != nil {
		note.Taken = true
		e.Address = note.Address
	}
	return e
}

// refused tells the audit of a query that was not let in.
func (r *Running) refused(e *audit.Entry, err error) {
	if e != nil {
		e.Outcome, e.Error = Outcome(err), fault.Classify(err).Message
		r.o.Audit.Add(e)
	}
}

// aboutOf returns what a query is, with the rules that apply if the audit is to tell them.
func (q *Query) aboutOf(ctx context.Context, kind string, dataSources []string) *about {
	a := &about{kind: kind, dataSources: dataSources}
	if q.auditEntry != nil && q.access != nil && q.access.Limited() {
		a.policies = policiesOf(ctx, q.access, dataSources)
	}
	return a
}

// policiesOf names the rules under which somebody reads datasources.
func policiesOf(ctx context.Context, access *auth.Access, dataSources []string) (out []string) {
	for _, name := range dataSources {
		g, err := access.Grant(ctx, auth.Reads(auth.Datasource, name))
		if err != nil || !g.Limited() {
			continue
		}
		for _, rule := range g.Rules {
			out = append(out, "role ["+rule.Role+"] on ["+name+"]")
		}
	}
	return out
}

// tell writes to the audit how the query ended.
func (q *Query) tell(err error) {
	if q.auditEntry == nil {
		return
	}
	e := *q.auditEntry
	e.Outcome, e.Rows, e.Bytes = Outcome(err), q.rows.Load(), q.bytes.Load()
	e.Duration = q.running.clock.Now().Sub(q.info.Started).Milliseconds()
	if about := q.about.Load(); about != nil {
		e.DataSources, e.Policies = about.dataSources, about.policies
	}
	if err != nil {
		f := fault.Classify(err)
		e.Error = f.Message
		if f.Category == fault.CategoryForbidden {
			e.Kind, e.Outcome = audit.Denial, "denied"
		}
	}
	q.running.o.Audit.Add(&e)
}
