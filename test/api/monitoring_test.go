package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/testkit/server"
)

var (
	promQuoted = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring)\s*\([^)]*\)`)
	promWord   = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*(\s*\()?`)
	served     = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)[{ ]`)
	notNames   = regexp.MustCompile(`[^a-zA-Z0-9_:]+`)
)

// metricsOf returns the metrics that an expression of PromQL reads: its words that are no labels,
// functions or operators.
func metricsOf(expr string) (out []string) {
	for _, w := range promWord.FindAllString(promQuoted.ReplaceAllString(expr, " "), -1) {
		if !strings.HasSuffix(w, "(") && !slices.Contains([]string{"and", "or", "unless", "bool"}, w) {
			out = append(out, w)
		}
	}
	return out
}

func TestMetricsOfExpressions(t *testing.T) {
	const expr = `histogram_quantile(0.95, sum by (le) (rate(a_bucket{x=~"b|c"}[5m]))) > 10 and absent(d) or e / f{g="}"}`
	if got := strings.Join(metricsOf(expr), " "); got != "a_bucket d e f" {
		t.Error(got)
	}
}

// The dashboard and the alerts in deploy read metrics that a process has. Those that
// need a stream, certificates or an audit are held against the list of metrics, and that is held
// against the source.
func TestDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	const rows = `REPLACE INTO m OVERWRITE ALL SELECT TIMESTAMP '2020-01-01' AS __time, 1 AS n PARTITIONED BY DAY`
	if err := s.Ingest(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT SUM(n) FROM m", "SELECT nothing FROM m"} {
		_, _ = s.Query(t.Context(), sql) // the second fails, and is counted
	}
	status, text, err := s.Send(t.Context(), "router", http.MethodGet, "/metrics", "")
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	known := map[string]bool{"up": true} // Prometheus' own
	for _, m := range served.FindAllSubmatch(text, -1) {
		known[string(m[1])] = true
	}
	if strings.Contains(string(text), "Nothing is said about") {
		t.Error("a metric has no help")
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems { // the names of the interface are what they are
		if strings.HasPrefix(p.Metric, "henge_") {
			t.Errorf("metric [%s]: %s", p.Metric, p.Text)
		}
	}
	for name := range obs.Helps() {
		if strings.HasPrefix(name, "henge_") { // without certificates, or an audit, there are none of them
			known[name] = true
			continue
		}
		for _, kind := range []string{"kafka", "kinesis"} {
			name := "service_" + notNames.ReplaceAllString(strings.ReplaceAll(name, "*", kind), "_")
			known[name], known[name+"_total"] = true, true
		}
	}
	check := func(where, expr string) {
		names := metricsOf(expr)
		if len(names) == 0 {
			t.Errorf("%s reads no metric: %s", where, expr)
		}
		for _, name := range names {
			if !known[name] && !known[strings.TrimSuffix(name, "_total")] {
				t.Errorf("%s reads [%s], which no process has", where, name)
			}
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	raw, err := os.ReadFile("../../deploy/grafana/henge.json")
	if err == nil {
		err = json.Unmarshal(raw, &board)
	}
	if err != nil || len(board.Panels) < 15 {
		t.Fatalf("[%d] panels, %v", len(board.Panels), err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			check("panel ["+p.Title+"]", target.Expr)
		}
	}
	rules, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range strings.Split(string(rules), "- alert: ")[1:] {
		name, _, _ := strings.Cut(rule, "\n")
		for _, member := range []string{"expr: '", "for: ", "severity: ", "summary: '", "runbook: docs/operations.md"} {
			if strings.Count(rule, " "+member) != 1 {
				t.Errorf("alert [%s] has not one [%s]", name, member)
			}
		}
		_, expr, _ := strings.Cut(rule, "expr: '")
		expr, _, _ = strings.Cut(expr, "'\n")
		check("alert ["+name+"]", expr)
	}
}
