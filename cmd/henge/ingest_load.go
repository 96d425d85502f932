package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/querycontext"
)

// marksKey is the key in the context of a load's task that holds what its files are known by: a
// second load of them finds it there.
const marksKey = "hengeIngestFiles"

// load runs the statement as a task and checks what it did.
func (o *ingestOptions) load(ctx context.Context, statement string, files *inputFiles, s *ingest.Survey) error {
	began := o.clock.Now()
	empty := o.replace || o.rowsOf(ctx) == 0
	id, err := submit(ctx, o.client, statement, map[string]any{"maxParseExceptions": o.maxBad, "waitUntilSegmentsLoad": true, marksKey: files.marks()})
	if err != nil {
		return err
	}
	fmt.Fprintf(o.err, "Task %s\n", id)
	bar := &progressBar{w: o.err, clock: o.clock, began: began, total: files.bytes()}
	var last taskProgress
	rows, err := watchTask(ctx, o.client, o.clock, id, o.err, func(p taskProgress) {
		last = p
		bar.show(p)
	})
	bar.end()
	if err != nil {
		return err
	}
	took := o.clock.Now().Sub(began)
	fmt.Fprintf(o.err, "%s in %s (%s rows/s)", counted(rows, "row"), took.Round(time.Millisecond), grouped(int64(float64(rows)/max(took.Seconds(), 1e-3))))
	if last.unparseable > 0 {
		fmt.Fprintf(o.err, ", %s could not be read", counted(last.unparseable, "record"))
	}
	fmt.Fprintln(o.err)
	if err := o.verify(ctx, rows, files, s, empty); err != nil {
		return err
	}
	if o.copies {
		return nil
	}
	at := ""
	if o.client.base != defaultServer {
		at = " --server " + o.client.base
	}
	fmt.Fprintf(o.err, "Query it: henge sql%s -q 'SELECT COUNT(*) FROM %s'\n", at, quoteName(o.into))
	return nil
}

// submit starts a task. The id is chosen here, so that a task can be found whose acknowledgement
// got lost.
func submit(ctx context.Context, c *client, statement string, settings map[string]any) (string, error) {
	name := newID()
	settings[querycontext.SQLQueryID.Key()] = name
	var submitted struct {
		TaskID string `json:"taskId"`
	}
	err := c.call(ctx, http.MethodPost, "/service/v2/sql/task", map[string]any{"query": statement, "context": settings}, &submitted)
	if errors.Is(err, errNoServer) && ctx.Err() == nil && !isRefused(err) {
		return "", fault.InvalidInput("The connection to %s was lost while the task was submitted. If it was accepted, it is Task [query-%s]: "+
			"before you "+
			"load again, look for it with: %s", c.base, name, followCommand(c, "query-"+name))
	}
	return submitted.TaskID, err
}

// newID returns a random UUID.
func newID() string {
	hi, lo := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0x3fff|0x8000, lo&0xffffffffffff)
}

// followCommand is what shows how far a task is.
func followCommand(c *client, id string) string {
	at := ""
	if c.base != defaultServer {
		at = " --server " + c.base
	}
	return fmt.Sprintf(`henge sql%s -q "SELECT status, error_msg FROM sys.tasks WHERE task_id = '%s'"`, at, id)
}

// rowsOf counts the rows of the datasource, 0 if there is none; -1: that is not known.
func (o *ingestOptions) rowsOf(ctx context.Context) int64 {
	var rows [][]int64
	query := fmt.Sprintf("SELECT COALESCE(SUM(num_rows), 0) FROM sys.segments WHERE datasource = %s AND is_overshadowed = 0 AND (is_published = 1 OR is_realtime = 1)",
		quoteText(o.into))
	if err := o.client.query(ctx, query, &rows); err != nil || len(rows) != 1 {
		return -1
	}
	return rows[0][0]
}

// query runs a query and decodes its rows.
func (c *client) query(ctx context.Context, query string, into any) error {
	return c.call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{"query": query, "resultFormat": "array"}, into)
}

// verify compares what was written with what the files hold: the rows, and of a table that had none
// before the numbers in each column.
func (o *ingestOptions) verify(ctx context.Context, rows int64, files *inputFiles, s *ingest.Survey, empty bool) error {
	for _, f := range files.list {
		if info, err := os.Stat(f.path); f.path != "" && (err != nil || info.Size() != f.size) {
			return fault.InvalidInput("File [%s] changed while it was loaded, so [%s] may differ from it. Load it again with --replace",
				record.Printable(f.name), o.into)
		}
	}
	want := s.Records - s.Bad.Count - s.Untimed.Count
	if rows != want {
		return fault.InvalidInput("The files have %s, but %s written to [%s]. Look at the report of the task, and load again with --replace",
			counted(want, "record"), wasWere(rows, "row"), o.into)
	}
	if !empty || rows == 0 {
		return nil
	}
	return o.verifyColumns(ctx, s)
}

func wasWere(n int64, noun string) string {
	if n == 1 {
		return counted(n, noun) + " was"
	}
	return counted(n, noun) + " were"
}

// verifyColumns counts the numbers of each column.
func (o *ingestOptions) verifyColumns(ctx context.Context, s *ingest.Survey) error {
	const atOnce = 100
	var numbers []ingest.SurveyColumn
	for _, c := range s.Columns {
		if c.Numbers > 0 && c.Name != "__time" && (c.Name != s.Time || s.KeepTime) && s.Untimed.Count+s.Bad.Count == 0 {
			numbers = append(numbers, c)
		}
	}
	for len(numbers) > 0 {
		part := numbers[:min(atOnce, len(numbers))]
		numbers = numbers[len(part):]
		var list []string
		for _, c := range part {
			list = append(list, "COUNT("+quoteName(c.Name)+")")
		}
		var found [][]int64
		if err := o.client.query(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+quoteName(o.into), &found); err != nil {
			fmt.Fprintf(o.err, "Note: the loaded rows could not be verified: %s\n", messageOf(err))
			return nil
		}
		for i, c := range part {
			if len(found) == 1 && found[0][i] != c.Numbers {
				return fault.InvalidInput("Column [%s] should have %s, but has %s: load again with --replace", record.Printable(c.Name),
					counted(c.Numbers, "number"), grouped(found[0][i]))
			}
		}
	}
	return nil
}

// refuseSecond refuses, or on a terminal asks about, files that the datasource has already.
func (o *ingestOptions) refuseSecond(ctx context.Context, files *inputFiles) error {
	if o.replace || o.again {
		return nil
	}
	id, count, err := o.loadedBy(ctx, files)
	if err != nil || id == "" {
		return err
	}
	what := "The file was"
	if n := len(files.list); n > 1 {
		what = fmt.Sprintf("%d of the %d files were", count, n)
	}
	if isTerminal(o.err) && !piped(o.in) {
		fmt.Fprintf(o.err, "%s already loaded into %s by Task [%s]. Load again and duplicate the rows? [y/N] ", what, o.into, id)
		var answer string
		if _, err := fmt.Fscanln(o.in, &answer); err == nil && strings.EqualFold(strings.TrimSpace(answer), "y") {
			return nil
		}
		return fault.InvalidInput("Nothing was loaded")
	}
	return fault.InvalidInput("%s already loaded into [%s] by Task [%s]. Nothing was loaded: --replace replaces all data, --append adds "+
		"the rows again",
		what, o.into, id)
}

// maxTasksLookedAt is how many of the tasks of a datasource are looked at for files.
const maxTasksLookedAt = 200

// loadedBy finds the task that loaded some of the files, or is at it. What a later REPLACE of
// everything took away does not count.
func (o *ingestOptions) loadedBy(ctx context.Context, files *inputFiles) (id string, count int, err error) {
	var tasks [][]string
	query := fmt.Sprintf("SELECT task_id, status FROM sys.tasks WHERE datasource = %s AND type = 'query_controller' AND status <> 'FAILED' "+
		"ORDER BY created_time DESC LIMIT %d", quoteText(o.into), maxTasksLookedAt)
	if err := o.client.query(ctx, query, &tasks); err != nil {
		return "", 0, err
	}
	if len(tasks) == 0 {
		return "", 0, nil
	}
	gone := o.rowsOf(ctx) == 0 // whatever was loaded is there no more
	wanted := map[string]bool{}
	for _, mark := range files.marks() {
		wanted[mark] = true
	}
	for _, t := range tasks {
		if gone && t[1] == "SUCCESS" {
			continue
		}
		var answer struct {
			Payload struct {
				Query   string                     `json:"sqlQuery"`
				Context map[string]json.RawMessage `json:"sqlQueryContext"`
			} `json:"payload"`
		}
		if err := o.client.call(ctx, http.MethodGet, "/service/indexer/v1/task/"+url.PathEscape(t[0]), nil, &answer); err != nil {
			continue // its payload is not kept any more
		}
		var marks []string
		if raw := answer.Payload.Context[marksKey]; raw != nil && json.Unmarshal(raw, &marks) != nil {
			continue
		}
		for _, mark := range marks {
			if wanted[mark] {
				count++
			}
		}
		if count > 0 {
			return t[0], count, nil
		}
		if words := strings.Fields(strings.ToUpper(answer.Payload.Query)); len(words) > 4 && words[0] == "REPLACE" && words[3] == "OVERWRITE" && words[4] == "ALL" {
			return "", 0, nil
		}
	}
	return "", 0, nil
}
