package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
)

const sqlPath = "/service/v2/sql"

// column is one of a result.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// page is a part of a result.
type page struct {
	Columns []column          `json:"columns"`
	Rows    []json.RawMessage `json:"rows"`
	// Truncated says that the response does not contain all rows. NextPage is the handle for the next
	// tool call. If there is no handle, Note is the reason.
	Truncated bool   `json:"truncated"`
	NextPage  string `json:"nextPage,omitempty"`
	Note      string `json:"note,omitempty"`
}

// statement runs SQL and reads its result, up to the limit of what is kept.
func (a *API) statement(ctx context.Context, c *call, sql string, parameters []any) (*result, error) {
	p, err := a.ask(ctx, c, "POST", sqlPath, map[string]any{
		"query": sql, "parameters": parameters, "resultFormat": "arrayLines", "header": true, "sqlTypesHeader": true,
		"context": a.settings(ctx, c),
	}, a.o.Limits.ResultBytes)
	if err != nil {
		return nil, err
	}
	if p.cut && p.status == 200 {
		p.body = p.body[:bytes.LastIndexByte(p.body, '\n')+1]
	} else if _, err := p.whole(); err != nil {
		return nil, err
	}
	out := &result{user: c.user, bytes: int64(len(p.body))}
	if p.cut {
		out.cut = fmt.Sprintf("The result has more than [%d] bytes and was cut: aggregate, filter or LIMIT it", a.o.Limits.ResultBytes)
	}
	var names, types []string
	for i, line := range bytes.Split(p.body, []byte("\n")) {
		switch {
		case len(line) == 0:
		case i == 0:
			err = json.Unmarshal(line, &names)
		case i == 1:
			err = json.Unmarshal(line, &types)
		default:
			out.rows = append(out.rows, line)
		}
		if err != nil {
			return nil, fault.Defensive("The header of a result can't be read").WithCause(err)
		}
	}
	for i, name := range names {
		of := column{Name: name}
		if i < len(types) {
			of.Type = types[i]
		}
		out.columns = append(out.columns, of)
	}
	return out, nil
}

// settings are the context of the queries of a call: their lane, unless the caller may not set it.
func (a *API) settings(ctx context.Context, c *call) map[string]any {
	key := querycontext.Lane.Key()
	if a.o.Lane == "" || c.access.Check(ctx, query.ContextNeeds(c.access.Options(), []string{key})...) != nil {
		return map[string]any{}
	}
	return map[string]any{key: a.o.Lane}
}

// page returns rows of a result from one on: at most so many, and as many as fit.
func (a *API) page(r *result, id string, from, most int) (*page, error) {
	out := &page{Columns: r.columns, Rows: []json.RawMessage{}}
	bytes, at := int64(0), from
	for ; at < len(r.rows) && len(out.Rows) < most; at++ {
		bytes += int64(len(r.rows[at])) + 1
		if bytes > a.o.Limits.Bytes {
			break
		}
		out.Rows = append(out.Rows, r.rows[at])
	}
	switch {
	case at == from && at < len(r.rows):
		return nil, fault.InvalidInput("Row [%d] of the result has [%d] bytes; an answer may have [%d]: select fewer columns, or parts",
			at, len(r.rows[at]), a.o.Limits.Bytes)
	case at == len(r.rows):
		out.Truncated, out.Note = r.cut != "", r.cut
		return out, nil
	}
	out.Truncated = true
	if id == "" {
		id = a.kept.keep(r)
	}
	if id == "" {
		out.Note = "There is not enough memory to keep the other rows: run the query with LIMIT and OFFSET"
		return out, nil
	}
	out.NextPage = handleOf(id, at)
	return out, nil
}

// queryInput are the arguments of query.
type queryInput struct {
	SQL        string `json:"sql"`
	Parameters []any  `json:"parameters"`
	MaxRows    *int   `json:"maxRows"`
	Timeout    *int   `json:"timeoutSeconds"`
}

// rows returns how many rows an answer may have.
func (a *API) rows(asked *int) (int, error) {
	switch most := a.o.Limits.Rows; {
	case asked == nil:
		return most, nil
	case *asked < 1 || *asked > most:
		return 0, fault.InvalidInput("Value [%d] of [maxRows] is not between [1] and [%d]", *asked, most)
	}
	return *asked, nil
}

// within returns a context with the time limit that was asked for.
func (a *API) within(ctx context.Context, asked *int) (context.Context, context.CancelFunc, error) {
	limit := a.o.Limits.Timeout
	if asked != nil {
		if *asked < 1 || time.Duration(*asked) > limit/time.Second {
			return nil, nil, fault.InvalidInput("Value [%d] of [timeoutSeconds] is not between [1] and [%d]", *asked, limit/time.Second)
		}
		limit = time.Duration(*asked) * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fault.Timeout("The call took more than [%s]", limit))
	return ctx, cancel, nil
}

func (a *API) query(ctx context.Context, c *call, in queryInput) (any, error) {
	most, err := a.rows(in.MaxRows)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := a.within(ctx, in.Timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if _, err := a.explained(ctx, c, in.SQL, in.Parameters, true); err != nil {
		return nil, err
	}
	r, err := a.statement(ctx, c, in.SQL, wired(in.Parameters))
	if err != nil {
		return nil, err
	}
	return a.page(r, "", 0, most)
}

// wired are parameters as the SQL endpoint takes them: with types.
func wired(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		kind := "VARCHAR"
		switch v := v.(type) {
		case float64:
			if kind = "DOUBLE"; v == float64(int64(v)) {
				kind = "BIGINT"
				out[i] = map[string]any{"type": kind, "value": int64(v)}
				continue
			}
		case bool:
			kind = "BOOLEAN"
		}
		out[i] = map[string]any{"type": kind, "value": v}
	}
	return out
}

type pageInput struct {
	Handle  string `json:"handle"`
	MaxRows *int   `json:"maxRows"`
}

func (a *API) nextPage(_ context.Context, c *call, in pageInput) (any, error) {
	most, err := a.rows(in.MaxRows)
	if err != nil {
		return nil, err
	}
	id, r, row, ok := a.kept.find(in.Handle, c.user)
	if !ok {
		return nil, fault.InvalidInput("Handle [%.100s] has no result: the process that returned a handle keeps its result for [%s]. "+
			"Run the query again",
			in.Handle, a.o.Limits.KeepFor)
	}
	return a.page(r, id, row, most)
}

// explanation is what explain returns.
type explanation struct {
	Plan       json.RawMessage `json:"plan"`
	Resources  json.RawMessage `json:"resources"`
	Attributes json.RawMessage `json:"attributes"`
	// SegmentBytes is the maximum size of the segments that the query may read.
	SegmentBytes int64 `json:"segmentBytes"`
}

type explainInput struct {
	SQL        string `json:"sql"`
	Parameters []any  `json:"parameters"`
}

func (a *API) explain(ctx context.Context, c *call, in explainInput) (any, error) {
	e, err := a.explained(ctx, c, in.SQL, in.Parameters, false)
	if err != nil {
		return nil, err
	}
	if size := int64(len(e.Plan) + len(e.Resources)); size > a.o.Limits.Bytes {
		return nil, fault.InvalidInput("The plan has [%d] bytes; an answer may have [%d]", size, a.o.Limits.Bytes)
	}
	return e, nil
}

var lineNumber = regexp.MustCompile(`line \[(\d+)\]`)

// explained plans a query, and with limited refuses one that may read too much.
func (a *API) explained(ctx context.Context, c *call, sql string, parameters []any, limited bool) (*explanation, error) {
	if strings.TrimSpace(sql) == "" {
		return nil, fault.InvalidInput("Argument [sql] is missing")
	}
	upper := strings.ToUpper(strings.TrimSpace(sql))
	if strings.HasPrefix(upper, "EXPLAIN") {
		return nil, fault.InvalidInput("Tool [explain] adds EXPLAIN itself; give it the statement only")
	}
	r, err := a.statement(ctx, c, "EXPLAIN PLAN FOR\n"+sql, wired(parameters))
	if f := fault.Find(err); f != nil { // of the statement as it was given
		message := lineNumber.ReplaceAllStringFunc(f.Message, func(text string) string {
			n, _ := strconv.Atoi(lineNumber.FindStringSubmatch(text)[1]) // digits
			return "line [" + strconv.Itoa(max(n-1, 1)) + "]"
		})
		return nil, fault.InvalidInput("%s", message)
	}
	if err != nil {
		return nil, err
	}
	var texts []string
	if len(r.rows) != 1 || json.Unmarshal(r.rows[0], &texts) != nil || len(texts) != 3 {
		return nil, fault.InvalidInput("The plan of the statement has more than [%d] bytes", a.o.Limits.ResultBytes)
	}
	out := &explanation{Plan: json.RawMessage(texts[0]), Resources: json.RawMessage(texts[1]), Attributes: json.RawMessage(texts[2])}
	if !json.Valid(out.Plan) { // some plans are texts
		out.Plan, _ = json.Marshal(texts[0])
	}
	if out.SegmentBytes, err = a.segmentBytes(ctx, c, reads(out)); err != nil {
		return nil, err
	}
	if limited && out.SegmentBytes > a.o.Limits.ScannedBytes {
		return nil, fault.InvalidInput("The query may read segments of [%d] bytes; [service.mcp.maxScannedBytes] allows [%d]. "+
			"Narrow its __time",
			out.SegmentBytes, a.o.Limits.ScannedBytes)
	}
	return out, nil
}

// always is an interval with all times.
const always = "0000/9999-12-31"

// reads returns the intervals of datasources that a plan reads, all of those of which it does not
// say any.
func reads(e *explanation) map[string][]string {
	out := map[string][]string{}
	var plan any
	_ = json.Unmarshal(e.Plan, &plan) // a text has none
	walk(plan, []string{always}, out)
	var resources []struct{ Name, Type string }
	_ = json.Unmarshal(e.Resources, &resources) // our own
	for _, r := range resources {
		if r.Type == "DATASOURCE" && out[r.Name] == nil {
			out[r.Name] = []string{always}
		}
	}
	return out
}

// walk finds the tables of a plan, with the intervals of the query around them.
func walk(node any, intervals []string, out map[string][]string) {
	switch node := node.(type) {
	case []any:
		for _, n := range node {
			walk(n, intervals, out)
		}
	case map[string]any:
		if _, ok := node["queryType"]; ok {
			intervals = []string{always}
			if of, ok := node["intervals"].(map[string]any); ok {
				if list, ok := of["intervals"].([]any); ok {
					intervals = nil
					for _, text := range list {
						s, _ := text.(string)
						intervals = append(intervals, s)
					}
				}
			}
		}
		if name, ok := node["name"].(string); ok && node["type"] == "table" {
			out[name] = append(out[name], intervals...)
		}
		for key, n := range node {
			if key != "context" {
				walk(n, intervals, out)
			}
		}
	}
}

// segmentBytes returns the size of the segments of intervals.
func (a *API) segmentBytes(ctx context.Context, c *call, of map[string][]string) (int64, error) {
	var conditions []string
	for name, intervals := range of {
		for _, interval := range intervals {
			start, end, ok := strings.Cut(interval, "/")
			if !ok {
				start, end, _ = strings.Cut(always, "/")
			}
			conditions = append(conditions, fmt.Sprintf(`("datasource" = %s AND "start" < %s AND "end" > %s)`,
				quoted(name), quoted(fourDigits(end)), quoted(fourDigits(start))))
		}
	}
	if len(conditions) == 0 {
		return 0, nil
	}
	r, err := a.statement(ctx, c,
		`SELECT COALESCE(SUM("size"), 0) FROM sys.segments WHERE "is_active" = 1 AND (`+strings.Join(conditions, " OR ")+`)`, nil)
	if err != nil {
		return 0, err
	}
	var row []int64
	if len(r.rows) != 1 || json.Unmarshal(r.rows[0], &row) != nil || len(row) != 1 {
		return 0, errors.New("the size of segments is not a number")
	}
	return row[0], nil
}

// fourDigits returns an instant that compares as a text with those of segments: years before 0 and
// beyond 9999 are the first and the last one.
func fourDigits(instant string) string {
	switch year, _, _ := strings.Cut(strings.TrimPrefix(instant, "-"), "-"); {
	case strings.HasPrefix(instant, "-"):
		return "0000"
	case len(year) > 4:
		return "9999-12-31"
	}
	return instant
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// name quotes an identifier.
func name(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
