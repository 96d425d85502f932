package msq

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
)

type cat struct{ b *bench }

func (c cat) Table(_ context.Context, s sql.Schema, name string) (*sql.Table, error) {
	for _, u := range c.b.meta.used {
		if u.ID.DataSource == name && !u.IsTombstone() {
			r, err := c.b.open(u)
			if err != nil {
				return nil, err
			}
			t := &sql.Table{}
			for _, col := range r.Info().Columns {
				ty := expr.FromRuntime(col.Type, col.Multi)
				if col.Name == "__time" {
					ty = expr.Of(expr.Timestamp).NotNull()
				}
				t.Columns = append(t.Columns, plan.Column{Name: col.Name, Type: ty})
			}
			return t, nil
		}
	}
	return nil, nil
}
func (c cat) Names(context.Context, sql.Schema) []string { return nil }

func flat(prefix string, v any, out map[string]string) {
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 {
			out[prefix] = "{}"
		}
		for k, e := range x {
			flat(prefix+"."+k, e, out)
		}
	case []any:
		if len(x) == 0 {
			out[prefix] = "[]"
		}
		for i, e := range x {
			flat(fmt.Sprintf("%s[%d]", prefix, i), e, out)
		}
	default:
		t, _ := json.Marshal(x)
		out[prefix] = string(t)
	}
}

func runSQL(t *testing.T, b *bench, id, text string, ctx map[string]any) (*Controller, *Outcome, error) {
	st, err := sql.Prepare(t.Context(), sql.Request{Text: text, Context: ctx, Catalog: cat{b}, Engine: sql.MSQ})
	if err != nil {
		return nil, nil, err
	}
	ec := &expr.Context{Zone: st.Zone, Now: st.Now}
	n := plan.Optimize(st.Plan, plan.Options{Context: *ec})
	b.deps.Expr = ec
	j := Job{ID: id, Plan: n, Context: st.Context}
	for _, c := range st.Columns {
		j.Columns = append(j.Columns, ResultColumn{c.Name, c.Type})
	}
	c, err := New(j, b.deps)
	if err != nil {
		return nil, nil, err
	}
	out, err := c.Run(t.Context())
	return c, out, err
}

func TestScratchGolden(t *testing.T) {
	b := newBench(t)
	dir := "/work/shared/golden/sql-task/"
	files, _ := filepath.Glob(dir + "*.json")
	reports := map[string]*Controller{}
	for _, f := range files {
		text, _ := os.ReadFile(f)
		var g struct {
			Name    string
			Request struct {
				Method, Path string
				Body         struct {
					Query   string
					Context map[string]any
				}
			}
			Capture  map[string]string
			Response struct {
				Status int
				Body   any
			}
		}
		if err := json.Unmarshal(text, &g); err != nil {
			continue
		}
		if g.Request.Method == "POST" && g.Response.Status == 202 {
			name := ""
			for k := range g.Capture {
				name = k
			}
			c, _, err := runSQL(t, b, "query-"+g.Name, g.Request.Body.Query, g.Request.Body.Context)
			fmt.Println("RUN", g.Name, name, err)
			reports[name] = c
			continue
		}
		if strings.HasSuffix(g.Request.Path, "/reports") {
			name := strings.TrimSuffix(strings.TrimPrefix(g.Request.Path, "/service/indexer/v1/task/{{"), "}}/reports")
			c := reports[name]
			if c == nil {
				fmt.Println("NO REPORT FOR", name)
				continue
			}
			r, err := c.Report()
			if err != nil {
				t.Fatal(err)
			}
			mine, err := r.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var m any
			if err := json.Unmarshal(mine, &m); err != nil {
				t.Fatal(err, string(mine))
			}
			want, got := map[string]string{}, map[string]string{}
			flat("", g.Response.Body, want)
			flat("", m, got)
			var lines []string
			for k, v := range want {
				if o, ok := got[k]; !ok {
					lines = append(lines, "  - "+k+" "+v)
				} else if o != v && !strings.Contains(k, "bytes") && !strings.Contains(k, "Time") {
					lines = append(lines, "  ~ "+k+" want "+v+" got "+o)
				}
			}
			for k, v := range got {
				if _, ok := want[k]; !ok {
					lines = append(lines, "  + "+k+" "+v)
				}
			}
			sort.Slice(lines, func(i, j int) bool { return lines[i][4:] < lines[j][4:] })
			fmt.Println("REPORT", g.Name)
			for _, l := range lines {
				if len(l) > 220 {
					l = l[:220]
				}
				fmt.Println(l)
			}
		}
	}
}
