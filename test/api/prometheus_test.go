package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/server"
)

// prometheusPatience is how long Prometheus may take to start, and to have scraped.
const prometheusPatience = 2 * time.Minute

// hasPrometheus skips the test where Prometheus is not installed.
func hasPrometheus(t *testing.T) {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian package prometheus)", program)
		}
	}
}

// The alerts fire when they should, and not else, says promtool; there is a case for each.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	hasPrometheus(t)
	dir := filepath.Join("..", "..", "deploy", "prometheus")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
	rules, err := os.ReadFile(filepath.Join(dir, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join(dir, "alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllSubmatch(rules, -1) {
		fires := regexp.MustCompile(`alertname: ` + string(m[1]) + `\n +exp_alerts:`)
		if !fires.Match(tests) {
			t.Errorf("alert [%s] fires in no test", m[1])
		}
	}
}

// A real Prometheus scrapes a server, takes every expression of the dashboard as Grafana sends it,
// and evaluates the alerts.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	hasPrometheus(t)
	s := server.Start(t, server.Options{})
	const rows = `REPLACE INTO m OVERWRITE ALL SELECT TIMESTAMP '2020-01-01' AS __time, 1 AS n PARTITIONED BY DAY`
	if err := s.Ingest(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
	p := startPrometheus(t, s.Addresses["router"])
	p.until(t, "two scrapes of a server that has answered queries", func() bool {
		for _, sql := range []string{"SELECT SUM(n) FROM m", "SELECT nothing FROM m"} {
			_, _ = s.Query(t.Context(), sql) // the second fails, and is counted
		}
		return p.ask(t, `min(increase(service_query_failed_count_total[1m])) > 0 and min(increase(service_query_time_count[1m])) > 0`) > 0
	})
	var names []string
	p.get(t, "/api/v1/label/__name__/values", nil, &names)
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "henge.json"))
	if err != nil {
		t.Fatal(err)
	}
	exprs, variables := boardOf(t, raw)
	for _, v := range variables {
		if p.ask(t, v) == 0 {
			t.Errorf("variable [%s] has no values", v)
		}
	}
	answered := 0
	for _, expr := range exprs {
		values := p.ask(t, expr)
		if values > 0 {
			answered++
			continue
		}
		// Failures of HTTP, datasources that wait for compaction, streams and certificates are not
		// there.
		missing := slices.ContainsFunc(metricsOf(expr), func(name string) bool { return !slices.Contains(names, name) })
		if !missing && !strings.Contains(expr, `status=~"5.."`) {
			t.Errorf("[%s] has no value, though its metrics are there", expr)
		}
	}
	if answered < 15 {
		t.Errorf("only [%d] of [%d] expressions of the dashboard have values", answered, len(exprs))
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	p.until(t, "all alerts are evaluated", func() bool {
		p.get(t, "/api/v1/rules", nil, &rules)
		return len(rules.Groups) == 1 && !strings.Contains(fmt.Sprint(rules), "unknown")
	})
	for _, r := range rules.Groups[0].Rules {
		// Half of the queries here fail, as asked for, and that may wait for ten minutes.
		if r.Health != "ok" || r.LastError != "" || r.State == "firing" {
			t.Errorf("alert %+v", r)
		}
	}
	if len(rules.Groups[0].Rules) < 10 {
		t.Errorf("only [%d] alerts", len(rules.Groups[0].Rules))
	}
	if n := p.ask(t, `service_service_heartbeat{leader="1"}`); n != 2 {
		t.Errorf("[%d] leaders, not one Coordinator and one Overlord", n)
	}
}

// boardOf returns the expressions of a dashboard as Grafana sends them when all instances and
// services are chosen, and those that list the values of its variables.
func boardOf(t *testing.T, raw []byte) (exprs, variables []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name, Type, AllValue string
				Query                any
			}
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	given := []string{"$__rate_interval", "1m"}
	for _, v := range board.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(fmt.Sprint(v.Query))
		if m == nil {
			t.Fatalf("variable [%s] asks for [%v]", v.Name, v.Query)
		}
		given = append(given, "$"+v.Name, v.AllValue)
		variables = append(variables, fmt.Sprintf(`count by (%s) (%s{%s!=""})`, m[2], m[1], m[2]))
	}
	fill := strings.NewReplacer(given...)
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			expr := fill.Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("[%s] has a variable that is not defined", expr)
			}
			exprs = append(exprs, expr)
		}
	}
	if len(exprs) == 0 {
		t.Fatal("the dashboard asks nothing")
	}
	return exprs, variables
}

// prometheus is a running Prometheus.
type prometheus struct{ url string }

// startPrometheus starts one that scrapes a server and has the alerts of deploy.
func startPrometheus(t *testing.T, target string) prometheus {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 300ms}
rule_files: [%q]
scrape_configs:
  - job_name: henge
    static_configs: [{targets: [%q]}]
`, rules, strings.TrimPrefix(target, "http://"))
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "promtool", "check", "config", file)
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listens, all := make(chan string, 1), make(chan struct{})
	go func() { // until Prometheus ends
		defer close(all)
		defer close(listens)
		for lines, told := bufio.NewScanner(out), false; lines.Scan(); {
			m := regexp.MustCompile(`msg="Listening on".* address=(\S+)`).FindStringSubmatch(lines.Text())
			if m != nil && !told {
				told = true
				listens <- "http://" + m[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
		<-all
		_ = cmd.Wait()
	})
	url, ok := <-listens
	if !ok {
		t.Fatal("Prometheus ended before it listened")
	}
	return prometheus{url: url}
}

// until waits for Prometheus.
func (p prometheus) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(prometheusPatience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// get reads an answer of the API into data.
func (p prometheus) get(t *testing.T, path string, parameters url.Values, data any) {
	t.Helper()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	p.until(t, "Prometheus answers", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path+"?"+parameters.Encode(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable { // it has only begun
			return false
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatalf("%s: %s: %v", path, resp.Status, err)
		}
		return true
	})
	if answer.Status != "success" {
		t.Errorf("%s %v: %s", path, parameters, answer.Error)
		return
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		t.Fatal(err)
	}
}

// ask returns how many values an expression has now.
func (p prometheus) ask(t *testing.T, expr string) int {
	t.Helper()
	var data struct{ Result []json.RawMessage }
	p.get(t, "/api/v1/query", url.Values{"query": {expr}}, &data)
	return len(data.Result)
}
