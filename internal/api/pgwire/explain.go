package pgwire

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// planFields are the columns of EXPLAIN.
var planFields = []field{{name: "QUERY PLAN", typ: pgtype.Text}}

// estimates reports whether a statement is EXPLAIN of a query over datasources in the syntax of
// PostgreSQL.
func (p *planned) estimates() bool {
	e, ok := p.node.(*pg.Explain)
	return ok && !e.Analyze && p.translation != nil
}

// explained makes the answer of EXPLAIN as clients read it, postgres_fdw among them: first a line
// with estimates, unless JSON was asked for, and then the plan.
func (c *session) explained(p *planned, r *rows) (*rows, error) {
	defer r.close()
	m := &memory{fields: planFields, style: &pgtype.Style{Zone: c.settings.zone}}
	if e, ok := p.node.(*pg.Explain); ok && !e.JSON {
		n, width := c.estimate(e.Query, p)
		m.rows = append(m.rows, []any{fmt.Sprintf("Datasource Scan  (cost=0.00..%.2f rows=%.0f width=%d)", n/100+1, n, width)})
	}
	err := c.busy(r.ctx, r.text, r.cancel, func() error {
		for {
			n, err := r.source.next(r.ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for row := range n {
				text, _ := r.source.append(nil, row, 0, false)
				m.rows = append(m.rows, []any{string(text)})
			}
		}
	})
	if err != nil {
		return nil, query.Cause(r.ctx, err)
	}
	return &rows{fields: planFields, source: m, tag: p.tag()}, nil
}

// bytesOfText is how wide columns of texts are taken to be.
const bytesOfText = 32

// estimate says how many rows a query may give, and how wide they are: those of its largest table,
// fewer with a filter or groups.
func (c *session) estimate(q *pg.Query, p *planned) (rows float64, width int) {
	rows = 1
	if session, err := c.catalogSession(c.ctx); err == nil {
		for _, t := range p.translation.Tables {
			name := t.Parts[len(t.Parts)-1]
			for _, schema := range []string{pgcatalog.Public, strings.ToLower(t.Parts[0].Name)} {
				if r := session.Snapshot.Relation(schema, name.Raw); r != nil {
					rows = max(rows, r.Rows)
				}
			}
		}
	}
	if b, ok := q.Body.(*pg.Block); ok {
		if b.Where != nil {
			rows /= 3
		}
		if b.GroupBy != nil || b.Distinct {
			rows /= 10
		}
	}
	if k, ok := q.Limit.(*pg.Const); ok {
		var n float64
		if _, err := fmt.Sscan(k.Text, &n); err == nil {
			rows = min(rows, n)
		}
	}
	for range p.translation.Labels {
		width += bytesOfText
	}
	return max(rows, 1), width
}
