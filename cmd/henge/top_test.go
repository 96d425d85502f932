package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTopText(t *testing.T) {
	lag, millis := int64(1200), int64(2500)
	l := &load{
		Server: "http://localhost:8888", Version: "1", Time: "2024-01-01T00:00:00.000Z",
		Queries: []runningQuery{{
			Number: 3, ID: "q", User: "a user with a long name", Millis: 1500, Rows: 1000, Memory: 4096, Text: "SELECT\n  '\x1b[2J'",
		}},
		Tasks:       []runningTask{{ID: "query-1", Type: "query_controller", Datasource: "t", State: "RUNNING", Created: "2024"}},
		Supervisors: []runningFeed{{ID: "s", State: "RUNNING", Lag: &lag, Millis: &millis}, {ID: "u", State: "PENDING"}},
		Missing:     []string{"tasks: Unauthorized"},
	}
	l.Memory.Used, l.Memory.Most = 1<<20, 2048<<20
	want := `henge 1 at http://localhost:8888, 2024-01-01T00:00:00.000Z. Memory 1 of 2,048 MB.

1 query
   3       1.5s         1,000 rows         4 KB  a user wi…  SELECT '\x1b[2J'

1 task
  RUNNING   query_controller t                    query-1 since 2024

2 supervisors
  s                              RUNNING                  lag 1,200 records, 2.5s
  u                              PENDING                  lag not known

Not shown: tasks: Unauthorized
`
	if diff := cmp.Diff(want, l.text()); diff != "" {
		t.Error(diff)
	}
}
