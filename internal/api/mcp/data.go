package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

type noInput struct{}

type dataSourceInput struct {
	DataSource string `json:"datasource"`
}

// table runs a statement of ours and returns its rows as they go into an answer.
func (a *API) table(ctx context.Context, c *call, sql string) (*page, error) {
	r, err := a.statement(ctx, c, sql, nil)
	if err != nil {
		return nil, err
	}
	return a.page(r, "", 0, a.o.Limits.Rows)
}

func (a *API) listDataSources(ctx context.Context, c *call, _ noInput) (any, error) {
	return a.table(ctx, c, `SELECT t."TABLE_NAME" AS "datasource", SUM(s."num_rows") AS "rows", SUM(s."size") AS "bytes",
		COUNT(s."segment_id") AS "segments", MIN(s."start") AS "from", MAX(s."end") AS "to"
		FROM INFORMATION_SCHEMA.TABLES t
		LEFT JOIN (SELECT * FROM sys.segments WHERE "is_active" = 1) s ON s."datasource" = t."TABLE_NAME"
		WHERE t."TABLE_TYPE" = 'TABLE' GROUP BY 1 ORDER BY 1`)
}

// described limits the data that describe_datasource reads.
const (
	describedColumns = 100 // of which statistics are made
	frequentColumns  = 8   // of which the most frequent values are told
	frequentValues   = 5
	sampleRows       = 3
)

type columnStatistics struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Distinct json.RawMessage `json:"distinctApproximately,omitempty"`
	Nulls    json.RawMessage `json:"nulls,omitempty"`
	Least    json.RawMessage `json:"least,omitempty"`
	Greatest json.RawMessage `json:"greatest,omitempty"`
	Frequent json.RawMessage `json:"frequentValues,omitempty"`
}

type description struct {
	DataSource string              `json:"datasource"`
	Columns    []*columnStatistics `json:"columns"`
	// Looked describes the data that the statistics cover.
	Looked string          `json:"statisticsOf,omitempty"`
	Rows   json.RawMessage `json:"rows,omitempty"`
	Sample *page           `json:"sample,omitempty"`
	Note   string          `json:"note,omitempty"`
}

func (a *API) describe(ctx context.Context, c *call, in dataSourceInput) (any, error) {
	out := &description{DataSource: in.DataSource}
	columns, err := a.columns(ctx, c, in.DataSource)
	if err != nil {
		return nil, err
	}
	out.Columns = columns
	newest, err := a.statement(ctx, c, "SELECT TIME_FORMAT(MAX(__time)) FROM "+name(in.DataSource), nil)
	if err != nil {
		return nil, err
	}
	var last [1]*string
	if len(newest.rows) == 0 || json.Unmarshal(newest.rows[0], &last) != nil || last[0] == nil {
		out.Note = "The datasource has no rows"
		return out, nil
	}
	day := fmt.Sprintf("FROM %s WHERE __time > TIME_PARSE(%s) - INTERVAL '1' DAY", name(in.DataSource), quoted(*last[0]))
	out.Looked = "the day before " + *last[0]
	if _, err := a.explained(ctx, c, "SELECT * "+day, nil, true); err != nil {
		out.Note = "No statistics: " + fault.Classify(err).Message
		return out, nil
	}
	if err := a.statistics(ctx, c, out, day); err != nil {
		return nil, err
	}
	if len(columns) > describedColumns {
		out.Note = fmt.Sprintf("Statistics are of the first [%d] of [%d] columns", describedColumns, len(columns))
	}
	out.Sample, err = a.table(ctx, c, fmt.Sprintf("SELECT * %s LIMIT %d", day, sampleRows))
	if err != nil {
		out.Sample, out.Note = nil, "No sample: "+fault.Classify(err).Message
	}
	return a.fitting(out), nil
}

// fitting leaves parts of a description out that is too large for an answer, and says so.
func (a *API) fitting(d *description) *description {
	for _, part := range []struct {
		noun string
		drop func()
	}{
		{"sample", func() { d.Sample = nil }},
		{"frequent values", func() {
			for _, c := range d.Columns {
				c.Frequent = nil
			}
		}},
		{"least and greatest values", func() {
			for _, c := range d.Columns {
				c.Least, c.Greatest = nil, nil
			}
		}},
	} {
		if text, err := json.Marshal(d); err != nil || int64(len(text)) <= a.o.Limits.Bytes {
			break
		}
		part.drop()
		d.Note = strings.TrimSpace(d.Note + " The " + part.noun + " are left out: the answer would be too large.")
	}
	return d
}

func (a *API) columns(ctx context.Context, c *call, of string) ([]*columnStatistics, error) {
	if of == "" {
		return nil, fault.InvalidInput("Argument [datasource] is missing")
	}
	r, err := a.statement(ctx, c, `SELECT "COLUMN_NAME", "DATA_TYPE" FROM INFORMATION_SCHEMA.COLUMNS
		WHERE "TABLE_NAME" = `+quoted(of)+` AND "TABLE_SCHEMA" NOT IN ('sys', 'INFORMATION_SCHEMA', 'lookup')
		ORDER BY "ORDINAL_POSITION"`, nil)
	if err != nil {
		return nil, err
	}
	if len(r.rows) == 0 {
		return nil, fault.NotFound("There is no datasource [%s] that you may read; list_datasources has their names", of)
	}
	out := make([]*columnStatistics, 0, len(r.rows))
	for _, row := range r.rows {
		var of [2]string
		if err := json.Unmarshal(row, &of); err != nil {
			return nil, err
		}
		out = append(out, &columnStatistics{Name: of[0], Type: of[1]})
	}
	return out, nil
}

// ordered are the types whose values have a least and a greatest one that can be shown.
var ordered = map[string]bool{
	"TIMESTAMP": true, "BIGINT": true, "INTEGER": true, "DOUBLE": true, "FLOAT": true, "REAL": true, "VARCHAR": true, "DATE": true,
}

// statistics are made by one statement, and one more for each column whose frequent values are
// told.
func (a *API) statistics(ctx context.Context, c *call, d *description, from string) error {
	sql, asked := "SELECT COUNT(*)", []*columnStatistics{}
	for _, col := range d.Columns[:min(len(d.Columns), describedColumns)] {
		if !ordered[col.Type] {
			continue
		}
		asked = append(asked, col)
		n := name(col.Name)
		least, greatest := "MIN("+n+")", "MAX("+n+")"
		if col.Type == "VARCHAR" {
			least, greatest = "CAST(NULL AS VARCHAR)", "CAST(NULL AS VARCHAR)"
		}
		sql += fmt.Sprintf(", APPROX_COUNT_DISTINCT(%s), COUNT(*) - COUNT(%s), %s, %s", n, n, least, greatest)
	}
	r, err := a.statement(ctx, c, sql+" "+from, nil)
	if err != nil {
		return err
	}
	var row []json.RawMessage
	if len(r.rows) != 1 || json.Unmarshal(r.rows[0], &row) != nil || len(row) != 1+4*len(asked) {
		return fault.Defensive("The statistics can't be read")
	}
	d.Rows = row[0]
	frequent := 0
	for i, col := range asked {
		col.Distinct, col.Nulls = row[1+4*i], row[2+4*i]
		if col.Type != "VARCHAR" {
			col.Least, col.Greatest = row[3+4*i], row[4+4*i]
			continue
		}
		if frequent++; frequent > frequentColumns {
			continue
		}
		r, err := a.statement(ctx, c, fmt.Sprintf("SELECT %s, COUNT(*) %s GROUP BY 1 ORDER BY 2 DESC LIMIT %d",
			name(col.Name), from, frequentValues), nil)
		if err != nil {
			return err
		}
		col.Frequent = slices.Concat([]byte("["), bytes.Join(r.rows, []byte(",")), []byte("]"))
	}
	return nil
}

type whyInput struct {
	Segment    string `json:"segment"`
	DataSource string `json:"datasource"`
	Task       string `json:"task"`
	Supervisor string `json:"supervisor"`
}

func (a *API) why(ctx context.Context, c *call, in whyInput) (any, error) {
	q := url.Values{}
	for key, v := range map[string]string{"segment": in.Segment, "datasource": in.DataSource, "task": in.Task, "supervisor": in.Supervisor} {
		if v != "" {
			q.Set(key, v)
		}
	}
	p, err := a.ask(ctx, c, "GET", "/service/coordinator/v1/why?"+q.Encode(), nil, a.o.Limits.ResultBytes)
	if err != nil {
		return nil, err
	}
	body, err := p.whole()
	if err != nil {
		return nil, err
	}
	var told struct {
		Decisions []json.RawMessage `json:"decisions"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return nil, fault.Defensive("The decisions can't be read").WithCause(err)
	}
	r := &result{user: c.user, columns: []column{{Name: "decision", Type: "JSON"}}}
	for _, d := range told.Decisions {
		r.rows = append(r.rows, append(append([]byte("["), d...), ']'))
		r.bytes += int64(len(d)) + 2
	}
	return a.page(r, "", 0, a.o.Limits.Rows)
}

// parts are what several statements tell. One that fails, as for want of a permission, has its
// reason in its place.
func (a *API) parts(ctx context.Context, c *call, statements map[string]string) (map[string]any, error) {
	out, failures := map[string]any{}, 0
	var last error
	for key, sql := range statements {
		p, err := a.table(ctx, c, sql)
		if err != nil {
			out[key], last = map[string]string{"error": fault.Classify(err).Message}, err
			failures++
			continue
		}
		out[key] = p
	}
	if failures == len(statements) || ctx.Err() != nil {
		return nil, last
	}
	return out, nil
}

func (a *API) freshness(ctx context.Context, c *call, in dataSourceInput) (any, error) {
	if _, err := a.columns(ctx, c, in.DataSource); err != nil {
		return nil, err
	}
	return a.parts(ctx, c, map[string]string{
		"newest": `SELECT MAX(__time) AS "newestTime", TIMESTAMPDIFF(SECOND, MAX(__time), CURRENT_TIMESTAMP) AS "secondsOld"
			FROM ` + name(in.DataSource),
		"segments": `SELECT COUNT(*) AS "segments", SUM("is_available") AS "available", SUM("is_realtime") AS "realtime",
			MAX("version") AS "newestVersion"
			FROM sys.segments WHERE "is_active" = 1 AND "datasource" = ` + quoted(in.DataSource),
		"supervisors": `SELECT "supervisor_id", "state", "detailed_state", "healthy", "suspended" FROM sys.supervisors
			WHERE "datasource" = ` + quoted(in.DataSource),
	})
}

func (a *API) recentErrors(ctx context.Context, c *call, in dataSourceInput) (any, error) {
	of := ""
	if in.DataSource != "" {
		of = ` AND "datasource" = ` + quoted(in.DataSource)
	}
	statements := map[string]string{
		"tasks": `SELECT "task_id", "type", "datasource", "created_time", "error_msg" FROM sys.tasks WHERE "status" = 'FAILED'` + of +
			` ORDER BY "created_time" DESC LIMIT 50`,
		"supervisors": `SELECT "supervisor_id", "datasource", "state", "detailed_state" FROM sys.supervisors
			WHERE "healthy" = 0` + of + ` LIMIT 50`,
	}
	if of == "" {
		statements["queries"] = `SELECT "id", "state", "start_time", "error_msg" FROM sys.queries WHERE "error_msg" IS NOT NULL
			ORDER BY "start_time" DESC LIMIT 50`
	}
	return a.parts(ctx, c, statements)
}

type ingestInput struct {
	DataSource string            `json:"datasource"`
	Rows       []json.RawMessage `json:"rows"`
	Key        string            `json:"idempotencyKey"`
}

func (a *API) ingest(ctx context.Context, c *call, in ingestInput) (any, error) {
	switch {
	case in.DataSource == "":
		return nil, fault.InvalidInput("Argument [datasource] is missing")
	case len(in.Rows) == 0 || len(in.Rows) > a.o.Limits.Rows:
		return nil, fault.InvalidInput("Argument [rows] has [%d] rows; between [1] and [%d] are taken", len(in.Rows), a.o.Limits.Rows)
	}
	more := *c
	if in.Key != "" {
		more.key = in.Key
	}
	return a.sent(ctx, &more, "/service/v2/ingest/"+url.PathEscape(in.DataSource), in.Rows)
}

type submitInput struct {
	SQL  string          `json:"sql"`
	Spec json.RawMessage `json:"spec"`
}

func (a *API) submit(ctx context.Context, c *call, in submitInput) (any, error) {
	switch {
	case (in.SQL == "") == (in.Spec == nil):
		return nil, fault.InvalidInput("Give either [sql] or [spec]")
	case in.SQL != "":
		return a.sent(ctx, c, "/service/v2/sql/task", map[string]any{"query": in.SQL})
	}
	return a.sent(ctx, c, "/service/indexer/v1/task", in.Spec)
}

// sent posts a body and returns the JSON that answers it.
func (a *API) sent(ctx context.Context, c *call, path string, body any) (any, error) {
	p, err := a.ask(ctx, c, "POST", path, body, a.o.Limits.Bytes)
	if err != nil {
		return nil, err
	}
	text, err := p.whole()
	return json.RawMessage(text), err
}
