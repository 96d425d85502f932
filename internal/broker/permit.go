package broker

import (
	"context"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/sql/infoschema"
	"github.com/hengedb/henge/internal/timeline"
)

// permit refuses a statement that its user may not run. All that it needs is checked in one
// decision. A request without an access is one of the process itself, such as that of a task, which
// was checked when it was submitted.
func (b *Broker) permit(ctx context.Context, req *query.Request, s *sql.Statement) error {
	if req.Access == nil {
		return nil
	}
	needs, err := needsOf(req, s)
	if err != nil || s.AccessOf != "" { // which explained has checked
		return err
	}
	if err := req.Access.CheckStatement(ctx, needs...); err != nil {
		return err
	}
	// An input source reads a datasource as it is, without its rules, and uploads of this user.
	for _, x := range s.Externals {
		source, err := ingest.ParseSource(x)
		if err == nil {
			err = ingest.PermitUploads(ctx, b.o.Uploads, source, req.Access.Name())
		}
		if err != nil {
			return err
		}
		_, dataSources, err := ingest.Reads(x)
		if err != nil {
			return err
		}
		for _, name := range dataSources {
			if err := req.Access.Check(ctx, auth.Reads(auth.Datasource, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readerOf returns who asks a statement.
func readerOf(req *query.Request) sql.Reader {
	if req.Seen != nil {
		return sql.ReaderOfSeen(req.Seen)
	}
	r := sql.ReaderOf(req.Access)
	r.Kept = req.Kept
	return r
}

// keepsHidden refuses a REPLACE that reads its own datasource by rules: what these don't show would
// be gone.
func (b *Broker) keepsHidden(ctx context.Context, req *query.Request, s *sql.Statement) error {
	if s.Kind != sql.Replace || s.Target == nil || req.Access == nil {
		return nil
	}
	for _, r := range s.Resources {
		if r.Write || r.Type != string(auth.Datasource) || r.Name != s.Target.DataSource {
			continue
		}
		g, err := req.Access.Grant(ctx, auth.Reads(auth.Datasource, r.Name))
		if err != nil {
			return err
		}
		if g.Limited() {
			return fault.Forbidden("Rules of %s show only a part of datasource [%s] to this user; a REPLACE of it that reads it "+
				"would delete the rest. Write to another datasource", plural(g.RolesOf()), r.Name)
		}
	}
	return nil
}

// plural puts the noun in front of names of roles.
func plural(roles string) string {
	if strings.Contains(roles, ",") {
		return "roles " + roles
	}
	return "role " + roles
}

// needsOf lists what a statement needs (docs/security.md).
func needsOf(req *query.Request, s *sql.Statement) ([]auth.Need, error) {
	o := req.Access.Options()
	var out []auth.Need
	for _, r := range s.Resources {
		need := auth.Reads(auth.Kind(r.Type), r.Name)
		if r.Write {
			need.Action = auth.Write
		}
		switch {
		case r.Type == string(auth.SystemTable):
			out = append(out, systemNeeds(r.Name, o)...)
		case r.Type == string(auth.External) && !r.Write: // below, by what is read
		default:
			out = append(out, need)
		}
	}
	for _, x := range s.Externals {
		types, dataSources, err := ingest.Reads(x)
		if err != nil {
			return nil, err
		}
		if !o.InputSources {
			types = []string{string(auth.External)}
		}
		for _, t := range types {
			out = append(out, auth.Reads(auth.External, t))
		}
		for _, d := range dataSources {
			out = append(out, auth.Reads(auth.Datasource, d))
		}
	}
	keys := slices.Clone(s.Sets)
	for key := range req.Context {
		keys = append(keys, key)
	}
	return append(out, query.ContextNeeds(o, keys)...), nil
}

// systemNeeds are those of a table of the schema sys. Rows of the others are filtered.
func systemNeeds(table string, o auth.Options) (out []auth.Need) {
	switch table {
	case "servers", "server_properties", "server_segments", "decisions":
		out = append(out, auth.Reads(auth.State, string(auth.State)))
	}
	if o.SystemTables {
		out = append(out, auth.Reads(auth.SystemTable, table))
	}
	return out
}

// may tells whether rows about a datasource are shown. Each name is decided once.
type may struct {
	access *auth.Access
	known  map[string]bool
}

// newMay returns nil where all rows are shown.
func newMay(access *auth.Access) *may {
	if access == nil || !access.Limited() {
		return nil
	}
	return &may{access, map[string]bool{}}
}

// all tells whether what is told of all rows of a datasource is shown.
func (m *may) all(ctx context.Context, dataSource string) bool {
	return m == nil || m.access.MayAll(ctx, auth.Reads(auth.Datasource, dataSource))
}

func (m *may) read(ctx context.Context, dataSource string) bool {
	if m == nil {
		return true
	}
	yes, known := m.known[dataSource]
	if !known {
		yes = m.access.May(ctx, auth.Reads(auth.Datasource, dataSource))
		m.known[dataSource] = yes
	}
	return yes
}

// permitted leaves out the rows of a table of the schema sys that the user may not see.
func (s *systemRows) permitted(ctx context.Context, table string, rows [][]any) [][]any {
	m := newMay(s.access)
	if m == nil {
		return rows
	}
	columns := infoschema.Columns(string(sql.SchemaSystem), table)
	at := func(name string) int {
		return slices.IndexFunc(columns, func(c plan.Column) bool { return c.Name == name })
	}
	keep := func(shown func(row []any) bool) {
		rows = slices.DeleteFunc(rows, func(row []any) bool { return !shown(row) })
	}
	switch table {
	case "queries":
		all, user := m.access.May(ctx, auth.Reads(auth.State, string(auth.State))), at("user")
		keep(func(row []any) bool { return all || row[user] == m.access.Name() })
	case "server_segments":
		id, of := at("segment_id"), dataSourcesOf(s.pin.state, s.pin.live)
		keep(func(row []any) bool {
			text, _ := row[id].(string)
			name, known := of[text]
			return known && m.all(ctx, name)
		})
	default:
		i := at("datasource")
		if i < 0 {
			break
		}
		keep(func(row []any) bool {
			names, _ := row[i].(string)
			for name := range strings.SplitSeq(names, ",") { // a supervisor may have several
				if names != "" && !m.all(ctx, name) {
					return false
				}
			}
			return names != "" || table == "decisions" // which needs STATE READ
		})
	}
	return rows
}

// dataSourcesOf returns the datasources of all segments by their ids.
func dataSourcesOf(state *timeline.State, live *cluster.LiveView) map[string]string {
	out := map[string]string{}
	for _, name := range state.DataSources() {
		for seg := range state.Timeline(name).All() {
			out[seg.ID.String()] = name
		}
	}
	for _, g := range growing(live) {
		out[g.Text] = g.Of.ID.DataSource
	}
	return out
}

// Bounded rejects a plan of a task that would read more bytes than the limits of its user allow.
func (b *Broker) Bounded(p *Prepared, node plan.Node) error {
	bounds := p.access.Bounds()
	if limit, limited := bounds.Find(auth.ScannedBytes); limited && float64(b.bytesOf(p, node)) > limit.Most {
		return bounds.TooLarge(auth.ScannedBytes)
	}
	return nil
}

// Seen returns the view that access rules give the user of a statement, for a task to store; nil:
// everything.
func (p *Prepared) Seen(ctx context.Context, text string) (*auth.Seen, error) {
	if p.access == nil || !p.access.Limited() {
		return nil, nil //nolint:nilnil // all is shown
	}
	var names []string
	for _, r := range p.Resources {
		if r.Type == string(auth.Datasource) && !r.Write {
			names = append(names, r.Name)
		}
	}
	return p.access.Seen(ctx, names, text)
}
