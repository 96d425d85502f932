package query

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// Queries that fail or take long have one line in the log, without secrets and cut.
func TestWhichQueriesAreLogged(t *testing.T) {
	const plain = "SELECT\n  1"
	secretive := `SELECT * FROM TABLE(EXTERN('{"type":"s3","properties":{"secretAccessKey":"hidden1"}}','{}')) -- ` +
		strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		slow, took time.Duration
		sql        string
		err        error
		level, msg string // "": no line
		has        []string
	}{
		"quick":           {time.Second, time.Millisecond, plain, nil, "", "", nil},
		"slow":            {time.Second, time.Second, plain, nil, "WARN", "slow query", []string{`"ms":1000`, `"statement":"SELECT 1"`}},
		"nothing is slow": {0, time.Hour, plain, nil, "", "", nil},
		"wrong": {0, 0, plain, fault.InvalidInput("Column [x] is unknown"), "INFO", "query failed",
			[]string{`"error":"Column [x] is unknown"`, `"category":"INVALID_INPUT"`}},
		"canceled": {0, 0, plain, fault.Canceled("Query was canceled"), "INFO", "query canceled", nil},
		"broken": {0, 0, plain, fault.Runtime("Disk is full").WithCause(errors.New("ENOSPC")), "WARN", "query failed",
			[]string{"Disk is full"}},
		"slow and broken": {time.Second, time.Minute, plain, fault.Capacity("No memory"), "WARN", "query failed",
			[]string{`"ms":60000`}},
		"secret":               {time.Second, time.Minute, secretive, nil, "WARN", "slow query", []string{`xxx ..."`}},
		"a secret in an error": {0, 0, secretive, errors.New("the key hidden1 is not accepted"), "WARN", "query failed", nil},
		"no text": {0, 0, "SELECT '\x1b[31m\xff'", fault.InvalidInput("no \x1b[31m"), "INFO", "query failed",
			[]string{`no \u001b[31m`}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			log, err := obs.NewLogger(&out, obs.LogOptions{Format: "json"})
			if err != nil {
				t.Fatal(err)
			}
			stepped := fakeclock.New(time.UnixMilli(0))
			r := NewRunning(stepped, RunningOptions{Logging: Logging{Log: log, Slow: c.slow}})
			ctx, q, err := r.Enter(context.Background(), Arrival{ID: "q1", SQL: c.sql, Identity: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			stepped.Advance(c.took)
			q.End(ctx, c.err)
			if lines := strings.Count(out.String(), "\n"); c.msg == "" && lines != 0 || c.msg != "" && lines != 1 {
				t.Fatalf("[%d] lines: %s", lines, out.String())
			}
			if c.msg == "" {
				return
			}
			var line struct{ Level, Msg, QueryID, Identity, Statement string }
			if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
				t.Fatal(err)
			}
			if line.Level != c.level || line.Msg != c.msg || line.QueryID != "q1" || line.Identity != "ann" ||
				len(line.Statement) > loggedSQL+4 {
				t.Errorf("%+v", line)
			}
			for _, want := range c.has {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in %s", want, out.String())
				}
			}
			for _, bad := range []string{"hidden1", "\x1b"} {
				if strings.Contains(out.String(), bad) {
					t.Errorf("%q is in %s", bad, out.String())
				}
			}
		})
	}
}
