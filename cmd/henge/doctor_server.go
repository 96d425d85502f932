package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/chrono"
)

// doctorTasks is how many tasks, queries and datasources a report has at most.
const doctorTasks = 2000

// maxSkew is by how much clocks may differ before a report says so.
const maxSkew = 5 * time.Second

// askServer adds what a server tells, or that there is none.
func (d *doctor) askServer(ctx context.Context) {
	status, err := d.get(ctx, d.client, "/status")
	if err != nil {
		d.add("server.txt", d.why(err)+"\n")
		if errors.Is(err, errNoServer) {
			d.problem("No server responds at %s, so the report contains only information of this machine", d.client.base)
			return
		}
		d.problem("The server at %s: %s", d.client.base, d.why(err))
	} else {
		d.add("server.txt", status+"\n")
	}
	d.skew(ctx)
	for _, part := range []struct{ name, path string }{
		{"server-health.txt", "/status/health"}, {"server-ready.txt", "/status/ready"}, {"server-properties.json", "/status/properties"},
		{"metrics.txt", "/metrics"}, {"loadstatus.json", "/proxy/coordinator/service/coordinator/v1/loadstatus?full"},
	} {
		text, err := d.get(ctx, d.client, part.path)
		if err != nil {
			text = d.why(err)
		}
		d.add(part.name, text+"\n")
	}
	d.tables(ctx)
}

// skew compares the clocks of this machine and of the server.
func (d *doctor) skew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.client.base+"/status/health", nil)
	if err != nil {
		return // status has told of it
	}
	resp, err := d.client.http.Do(r)
	if err != nil {
		return // likewise
	}
	_ = resp.Body.Close() // only its head is wanted
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return // no server of ours
	}
	skew := d.clock.Now().Sub(at).Round(time.Second)
	d.add("clock.txt", fmt.Sprintf("difference between the clocks of this machine and the server: %s\n", skew))
	if skew > maxSkew || skew < -maxSkew {
		d.problem("Warning: the clocks of this machine and the server differ by %s", skew)
	}
}

// tables adds what the system tables have.
func (d *doctor) tables(ctx context.Context) {
	since := literal(chrono.FormatMillis(d.clock.Now().Add(-24*time.Hour).UnixMilli(), chrono.UTC))
	info := ""
	if d.statements {
		info = ", info"
	}
	for _, t := range []struct{ name, query string }{
		{"servers.csv", "SELECT * FROM sys.servers"},
		{"tasks.csv", "SELECT task_id, group_id, type, datasource, created_time, status, runner_status, duration, location, error_msg " +
			"FROM sys.tasks WHERE created_time >= " + since + " ORDER BY created_time DESC"},
		{"queries-failed.csv", "SELECT id, engine, state, start_time, duration, num_rows, memory" + info + ", error_msg FROM sys.queries " +
			"WHERE state = 'FAILED' ORDER BY start_time DESC"},
		{"segments.csv", "SELECT datasource, is_active, is_available, is_realtime, COUNT(*) AS segments, SUM(num_rows) AS num_rows, " +
			"SUM(size) AS bytes FROM sys.segments GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"},
		{"supervisors.csv", "SELECT supervisor_id, datasource, state, detailed_state, healthy, type, suspended FROM sys.supervisors"},
		{"decisions.csv", "SELECT subject, subject_id, datasource, topic, outcome, reason FROM sys.decisions"},
	} {
		rows, err := d.rows(ctx, t.query)
		if err != nil {
			d.add(t.name, d.why(err)+"\n")
			continue
		}
		d.add(t.name, d.table(rows))
		if t.name == "servers.csv" {
			d.members(ctx, rows)
		}
	}
}

// rows runs a query. The first row has the names of the columns.
func (d *doctor) rows(ctx context.Context, query string) ([][]any, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	var rows [][]any
	err := d.client.call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{
		"query": fmt.Sprintf("%s LIMIT %d", query, doctorTasks), "resultFormat": "array", "header": true,
	}, &rows)
	return rows, err
}

// table writes rows as CSV, messages as reports have them.
func (d *doctor) table(rows [][]any) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	for n, row := range rows {
		line := make([]string, len(row))
		for i, value := range row {
			if value != nil {
				line[i] = fmt.Sprint(value)
			}
			switch name, _ := rows[0][i].(string); {
			case n == 0:
			case name == "error_msg" || name == "reason":
				line[i] = d.message(line[i])
			case name == "info":
				line[i] = strings.Join(strings.Fields(line[i]), " ")
			}
			line[i] = termtext.Harmless(d.masked(line[i]))
		}
		_ = w.Write(line) // into memory
	}
	w.Flush()
	return out.String()
}

// members adds the status of every process that the cluster knows. What its user is is told only to
// the host that it was given for.
func (d *doctor) members(ctx context.Context, rows [][]any) {
	at := map[string]int{}
	for i, name := range rows[0] {
		text, _ := name.(string)
		at[text] = i
	}
	var out strings.Builder
	for _, row := range rows[1:] {
		cell := func(name string) string {
			if i, ok := at[name]; ok && i < len(row) && row[i] != nil {
				return fmt.Sprint(row[i])
			}
			return ""
		}
		scheme, port := "https", cell("tls_port")
		if plain := cell("plaintext_port"); plain != "" && plain != "-1" && plain != "0" {
			scheme, port = "http", plain
		}
		member := *d.client
		member.base = scheme + "://" + net.JoinHostPort(cell("host"), port)
		text, err := d.get(ctx, &member, "/status")
		if err != nil {
			text = d.why(err)
			d.problem("Warning: %s at %s does not respond: %s", cell("server_type"), member.base, text)
		}
		var compact strings.Builder
		var status map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &status) == nil {
			fmt.Fprintf(&compact, "version %s, memory %s", status["version"], status["memory"])
			text = compact.String()
		}
		fmt.Fprintf(&out, "%s %s: %s\n", cell("server_type"), member.base, text)
	}
	d.add("members.txt", out.String())
}
