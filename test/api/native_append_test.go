package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

const appendedSegments = `SELECT "start", "end", partition_num, JSON_VALUE(PARSE_JSON(shard_spec), '$.type'), num_rows FROM sys.segments ` +
	"WHERE datasource = 'x' AND is_active = 1 ORDER BY 1, partition_num"

// A native append goes into the time chunks that are there, whatever its own granularity is. Where
// there are none it makes chunks of its granularity, or of a finer one that overlaps none.
func TestNativeAppendsFollowTheChunks(t *testing.T) {
	line := func(times ...string) (out []string) {
		for _, at := range times {
			out = append(out, fmt.Sprintf(`{"t":%q,"k":"a"}`, at))
		}
		return out
	}
	load := func(granularity, io, tuning string, times ...string) nativeLoad {
		return nativeLoad{lines: line(times...), granularity: `{"segmentGranularity":"` + granularity + `","rollup":false}`, io: io, tuning: tuning}
	}
	const appends = `{"appendToExisting":true}`
	for _, c := range []struct {
		name          string
		first, second nativeLoad
		want          string
	}{
		{"finer", load("DAY", "", "", "2024-01-01T05:00:00Z"), load("HOUR", appends, "", "2024-01-01T06:30:00Z", "2024-01-01T23:59:59Z", "2024-01-02T01:00:00Z"),
			"2024-01-01T00 2024-01-02T00 0 numbered 1; 2024-01-01T00 2024-01-02T00 1 numbered 2; 2024-01-02T01 2024-01-02T02 0 numbered 1"},
		{"coarser", load("HOUR", "", "", "2024-01-01T05:00:00Z"), load("DAY", appends, "", "2024-01-01T05:30:00Z", "2024-01-01T07:00:00Z", "2024-01-01T00:30:00Z", "2024-01-02T01:00:00Z"),
			"2024-01-01T00 2024-01-01T01 0 numbered 1; 2024-01-01T05 2024-01-01T06 0 numbered 1; 2024-01-01T05 2024-01-01T06 1 numbered 1; " +
				"2024-01-01T06 2024-01-01T12 0 numbered 1; 2024-01-02T00 2024-01-03T00 0 numbered 1"},
		{"months over weeks", load("WEEK", "", "", "2024-01-30T00:00:00Z"), load("MONTH", appends, "", "2024-01-28T00:00:00Z", "2024-02-01T00:00:00Z", "2024-02-20T00:00:00Z", "2024-03-05T00:00:00Z"),
			"2024-01-28T00 2024-01-29T00 0 numbered 1; 2024-01-29T00 2024-02-05T00 0 numbered 1; 2024-01-29T00 2024-02-05T00 1 numbered 1; " +
				"2024-02-20T00 2024-02-21T00 0 numbered 1; 2024-03-01T00 2024-04-01T00 0 numbered 1"},
		{"weeks over months", load("MONTH", "", "", "2024-01-30T00:00:00Z"), load("WEEK", appends, "", "2024-01-31T00:00:00Z", "2024-02-03T00:00:00Z", "2024-02-06T00:00:00Z"),
			"2024-01-01T00 2024-02-01T00 0 numbered 1; 2024-01-01T00 2024-02-01T00 1 numbered 1; 2024-02-03T00 2024-02-04T00 0 numbered 1; " +
				"2024-02-05T00 2024-02-12T00 0 numbered 1"},
		{"days over all times", load("ALL", "", "", "2024-01-30T00:00:00Z"), load("DAY", appends, "", "2024-01-31T00:00:00Z", "2025-01-31T00:00:00Z"),
			"-146136543-09-08T08 146140482-04-24T15 0 numbered 1; -146136543-09-08T08 146140482-04-24T15 1 numbered 2"},
		{"hashed chunks", load("DAY", "", `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed","numShards":1}}`, "2024-01-01T05:00:00Z"),
			load("HOUR", appends, "", "2024-01-01T06:00:00Z"),
			"2024-01-01T00 2024-01-02T00 0 hashed 1; 2024-01-01T00 2024-01-02T00 1 numbered 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server.Start(t, server.Options{})
			rows := len(c.first.lines) + len(c.second.lines)
			for _, l := range []nativeLoad{c.first, c.second} {
				if task, _ := runCounted(t, s, l.spec(t)); task.StatusCode != "SUCCESS" {
					t.Fatal(task.ErrorMsg)
				}
			}
			got, err := s.Query(t.Context(), appendedSegments)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, row := range got {
				lines = append(lines, strings.ReplaceAll(strings.Trim(fmt.Sprint(row), "[]"), ":00:00.000Z", ""))
			}
			text := strings.ReplaceAll(strings.ReplaceAll(strings.Join(lines, "; "), ":23:32.096Z", ""), ":36:27.903Z", "")
			if text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			if n := asker(t, s)("SELECT COUNT(*) FROM x"); n != fmt.Sprintf("[[%d]]", rows) {
				t.Errorf("%s rows, want %d", n, rows)
			}
		})
	}
}

// INSERT does not follow: it is refused with advice.
func TestInsertsDoNotFollowTheChunks(t *testing.T) {
	s := server.Start(t, server.Options{})
	if task, _ := runCounted(t, s, nativeLoad{lines: []string{`{"t":"2024-01-01T05:00:00Z","k":"a"}`}}.spec(t)); task.StatusCode != "SUCCESS" {
		t.Fatal(task.ErrorMsg)
	}
	err := s.Ingest(t.Context(), "INSERT INTO x SELECT TIMESTAMP '2024-01-01 06:00:00' AS __time, 'b' AS k PARTITIONED BY HOUR", nil)
	if err == nil || !strings.Contains(err.Error(), "Either set the partition granularity for the INSERT to [DAY]") {
		t.Errorf("%v", err)
	}
}
