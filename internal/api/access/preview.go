package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// maxSample bounds the rows of a sample: it shows what rules do, and is not a way to read data.
const maxSample = 100

// Preview serves the endpoint that tells what somebody sees of a datasource or a statement, and
// why. It is safe for concurrent use.
type Preview struct {
	Engine  query.Previewer
	Running *query.Running
	// DefaultTimeout and MaxTimeout are those of queries.
	DefaultTimeout, MaxTimeout int64
}

// Routes adds the endpoint.
func (p *Preview) Routes(mux *edge.Mux) { mux.On("POST "+Base+"/preview", edge.JSONOnly(p.serve)) }

// previewRequest says whose access is asked about, to what.
type previewRequest struct {
	// User or Roles say who; Attributes are what CURRENT_USER_ATTRIBUTE tells of them.
	User       *string             `json:"user"`
	Roles      []string            `json:"roles"`
	Attributes map[string][]string `json:"attributes"`
	// DataSource or Query say what; Parameters and Context are those of the query.
	DataSource *string           `json:"dataSource"`
	Query      *string           `json:"query"`
	Parameters []query.Parameter `json:"parameters"`
	Context    map[string]any    `json:"context"`
	// Sample is how many rows are shown as they are seen.
	Sample int `json:"sample"`
}

type shownPreview struct {
	User        *string           `json:"user"`
	Roles       []string          `json:"roles"`
	Allowed     bool              `json:"allowed"`
	Needs       []shownNeed       `json:"needs"`
	DataSources []shownDataSource `json:"dataSources"`
	// Columns are those of the answer to the statement; none where it is not allowed.
	Columns []shownColumn `json:"columns"`
	// Sample is absent where none was asked for, or the statement is not allowed.
	Sample json.RawMessage `json:"sample,omitempty"`
}

type shownNeed struct {
	auth.Need
	Allowed bool        `json:"allowed"`
	Rules   []shownRule `json:"rules"`
}

type shownRule struct {
	Role string `json:"role"`
	*auth.Rule
}

type shownDataSource struct {
	Name    string        `json:"name"`
	Rows    []shownRows   `json:"rows"`
	Columns []shownColumn `json:"columns"`
}

type shownRows struct {
	Role      string `json:"role"`
	Condition string `json:"condition"`
}

type shownColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Shown is whole, masked or hidden; "" of a column of the answer.
	Shown string `json:"shown,omitempty"`
	Mask  string `json:"mask,omitempty"`
	Role  string `json:"role,omitempty"`
}

// check refuses a request that does not say who and what.
func (q *previewRequest) check() error {
	switch {
	case (q.User == nil) == (q.Roles == nil):
		return fault.InvalidInput("A preview needs either [user] or [roles], a list of names")
	case q.User != nil && *q.User == "":
		return fault.InvalidInput("Member [user] is empty; give the name of a user")
	case (q.DataSource == nil) == (q.Query == nil):
		return fault.InvalidInput("A preview needs either [dataSource] or [query]")
	case q.DataSource != nil && *q.DataSource == "":
		return fault.InvalidInput("Member [dataSource] is empty; give the name of a datasource")
	case q.DataSource != nil && len(q.Parameters) > 0:
		return fault.InvalidInput("Member [parameters] goes with [query] only")
	case q.Sample < 0 || q.Sample > maxSample:
		return fault.InvalidInput("Value [%d] of [sample] is not between [0] and [%d]", q.Sample, maxSample)
	}
	return nil
}

// identity is whose access is asked about. A user has the roles that are stored, and a list of
// roles no others.
func (q *previewRequest) identity() auth.Identity {
	id := auth.Identity{Roles: q.Roles, Attributes: q.Attributes}
	if q.User != nil {
		id.Name = *q.User
	}
	return id
}

// statement returns the SQL text that is asked about.
func (q *previewRequest) statement() string {
	if q.Query != nil {
		return *q.Query
	}
	return `SELECT * FROM "` + strings.ReplaceAll(*q.DataSource, `"`, `""`) + `"`
}

func (p *Preview) serve(w http.ResponseWriter, r *http.Request) error {
	arrived, access := clock.Deadline(0), auth.Of(r.Context())
	if !access.Limited() {
		return fault.InvalidInput("A preview shows what users may see; without security everybody may see everything")
	}
	var q previewRequest
	if err := read(w, r, &q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	values := map[string]any{}
	maps.Copy(values, q.Context)
	id := query.NewID()
	values[querycontext.SQLQueryID.Key()] = id
	of := access.As(q.identity())
	req := &query.Request{
		SQL: q.statement(), Context: values, Parameters: q.Parameters, ID: id, User: edge.UserOf(r), Access: of,
		Dialect: edge.DialectOf(r.Context()).Name,
	}
	seen, err := p.Engine.Preview(r.Context(), req)
	if err != nil {
		return err
	}
	out := shown(seen)
	out.User, out.Roles = q.User, append([]string{}, of.Roles()...)
	if q.Sample > 0 && seen.Allowed() {
		// Who may read permissions is not thereby shown the data that they are about.
		if err := access.Check(r.Context(), seen.Needs()...); err != nil {
			return err
		}
		if out.Sample, err = p.sample(r.Context(), arrived, access, req, q.Sample); err != nil {
			return err
		}
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// shown returns a preview as it is sent.
func shown(seen *query.Preview) shownPreview {
	out := shownPreview{Allowed: seen.Allowed(), Needs: []shownNeed{}, DataSources: []shownDataSource{}, Columns: []shownColumn{}}
	for _, d := range seen.Decisions {
		n := shownNeed{Need: d.Need, Allowed: d.Allowed, Rules: []shownRule{}}
		if d.Limited() {
			for _, rule := range d.Rules {
				n.Rules = append(n.Rules, shownRule{rule.Role, rule})
			}
		}
		out.Needs = append(out.Needs, n)
	}
	for _, t := range seen.Tables {
		s := shownDataSource{Name: t.Name, Rows: []shownRows{}, Columns: []shownColumn{}}
		for _, rule := range t.Rows {
			s.Rows = append(s.Rows, shownRows{rule.Role, rule.Rows})
		}
		for _, c := range t.Columns {
			column := shownColumn{Name: c.Name, Type: c.Type, Shown: "whole"}
			if c.Cover != nil {
				column.Shown, column.Mask, column.Role = "masked", c.Cover.Mask, c.Cover.Role
				if c.Cover.Hide {
					column.Shown = "hidden"
				}
			}
			s.Columns = append(s.Columns, column)
		}
		out.DataSources = append(out.DataSources, s)
	}
	for _, c := range seen.Columns {
		out.Columns = append(out.Columns, shownColumn{Name: c.Name, Type: c.Type.String()})
	}
	return out
}

// sample runs the statement as the user and returns its first rows, as a JSON array of objects. The
// limits are those of the caller, whose query it is.
func (p *Preview) sample(
	ctx context.Context, arrived time.Time, caller *auth.Access, req *query.Request, most int,
) (text json.RawMessage, err error) {
	ctx, done, err := query.Deadline(ctx, arrived, req.Context, p.DefaultTimeout, p.MaxTimeout)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, q, err := p.Running.Enter(ctx, query.Arrival{
		ID: req.ID, SQL: req.SQL, Identity: req.User, Context: req.Context, Access: caller, Door: "preview",
	})
	if err != nil {
		return nil, err
	}
	defer func() { q.End(ctx, err) }()
	rows, err := p.Engine.Start(ctx, q, req)
	if err != nil {
		return nil, query.Cause(ctx, err)
	}
	defer rows.Close()
	var buf bytes.Buffer
	writer := result.NewWriter(&buf, rows.Columns(), result.Options{
		Format: result.Object, Zone: rows.Zone(), StringifyArrays: rows.StringifyArrays(),
	})
	for most > 0 {
		var b *vector.Batch
		if b, err = rows.Next(ctx); err != nil {
			break
		}
		first := b.Slice(0, min(most, b.Rows()))
		most -= first.Rows()
		if err := writer.Batch(first); err != nil {
			return nil, err
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, query.Cause(ctx, err)
	}
	err = writer.Close()
	q.Wrote(writer.Bytes())
	return buf.Bytes(), err
}
