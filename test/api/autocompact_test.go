package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/server"
)

// compactionStatus is a datasource in the answer of compaction/status.
type compactionStatus struct {
	Schedule  string  `json:"scheduleStatus"`
	Message   *string `json:"message"`
	Awaiting  int     `json:"intervalCountAwaitingCompaction"`
	Compacted int     `json:"intervalCountCompacted"`
	Skipped   int     `json:"intervalCountSkipped"`
}

// compactor is a server with the datasource h: 30 hours of two rows each, an hour to a segment.
type compactor struct {
	t *testing.T
	*server.Server
}

const hoursOfH = 30

func startCompactor(t *testing.T) *compactor {
	t.Helper()
	s := &compactor{t, server.Start(t, server.Options{})}
	var rows []string
	for h := range hoursOfH {
		for k := range 2 {
			rows = append(rows, fmt.Sprintf(`{"t":"2024-01-%02dT%02d:30","k":"k%d","n":%d}`, 1+h/24, h%24, k, h))
		}
	}
	load := strings.Replace(inline("REPLACE INTO h OVERWRITE ALL", rows...), "PARTITIONED BY DAY", "PARTITIONED BY HOUR", 1)
	if err := s.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *compactor) send(method, path, body string) {
	s.t.Helper()
	if status, answer, err := s.Send(s.t.Context(), "router", method, path, body); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s, %v", method, path, status, answer, err)
	}
}

// rows asks how many rows there are and what they add up to.
func (s *compactor) rows() string {
	s.t.Helper()
	r, err := s.Query(s.t.Context(), "SELECT COUNT(*), SUM(n), COUNT(DISTINCT k) FROM h")
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(r)
}

// settle waits until compaction is done with everything; the rows must be the same all the time.
func (s *compactor) settle(done func(compactionStatus) bool) compactionStatus {
	s.t.Helper()
	want := s.rows()
	var last compactionStatus
	for deadline := clock.System().Now().Add(time.Minute); clock.System().Now().Before(deadline); {
		var answer struct {
			Latest []compactionStatus `json:"latestStatus"`
		}
		if err := s.Call(s.t.Context(), http.MethodGet, "/service/coordinator/v1/compaction/status", nil, &answer); err != nil {
			s.t.Fatal(err)
		}
		if got := s.rows(); got != want {
			s.t.Fatalf("the rows are %s, they were %s", got, want)
		}
		if len(answer.Latest) == 1 {
			if last = answer.Latest[0]; last.Awaiting == 0 && s.tasks("active") == 0 && done(last) {
				return last
			}
		}
		if err := clock.System().Sleep(s.t.Context(), 20*time.Millisecond); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Fatalf("compaction does not end: %+v", last)
	return last
}

// tasks counts compaction tasks: active ones, or all.
func (s *compactor) tasks(which string) int {
	s.t.Helper()
	var list []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Error  string `json:"errorMsg"`
	}
	if err := s.Call(s.t.Context(), http.MethodGet, "/service/indexer/v1/tasks?type=compact", nil, &list); err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, task := range list {
		if task.Status == "FAILED" {
			s.t.Fatalf("task [%s] failed: %s", task.ID, task.Error)
		}
		if which == "all" || task.Status == "RUNNING" {
			n++
		}
	}
	return n
}

func (s *compactor) segments() string {
	s.t.Helper()
	r, err := s.Query(s.t.Context(), `SELECT "start", "end", partition_num FROM sys.segments WHERE datasource = 'h' AND is_overshadowed = 0 ORDER BY 1, 3`)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(r)
}

// Rounds make days of hours and then rest; they follow new settings, leave the newest data alone,
// and wake up for what is appended.
func TestAutomaticCompaction(t *testing.T) {
	s := startCompactor(t)
	const config = "/service/coordinator/v1/config/compaction"
	s.send(http.MethodPost, config+"/taskslots?ratio=1", "")
	s.send(http.MethodPost, config, `{"dataSource":"h","skipOffsetFromLatest":"PT1H","granularitySpec":{"segmentGranularity":"DAY"}}`)
	status := s.settle(func(c compactionStatus) bool { return c.Compacted == 1 })
	if status.Skipped != hoursOfH-24 || status.Message == nil || !strings.Contains(*status.Message, "skip offset") {
		t.Errorf("with the skip offset: %+v", status)
	}
	s.send(http.MethodPost, config, `{"dataSource":"h","skipOffsetFromLatest":"PT0S","granularitySpec":{"segmentGranularity":"DAY"}}`)
	s.settle(func(c compactionStatus) bool { return c.Compacted == 2 && c.Skipped == 0 })
	const first, second = "2024-01-01T00:00:00.000Z 2024-01-02T00:00:00.000Z", "2024-01-02T00:00:00.000Z 2024-01-03T00:00:00.000Z"
	if got, want := s.segments(), "[["+first+" 0] ["+second+" 0]]"; got != want {
		t.Errorf("segments %s, want %s", got, want)
	}
	before := s.tasks("all")
	for range 3 {
		s.send(http.MethodPost, "/service/coordinator/v1/compaction/compact", "")
	}
	s.send(http.MethodPost, config, `{"dataSource":"h","taskPriority":30,"skipOffsetFromLatest":"PT0S","granularitySpec":{"segmentGranularity":"DAY"},"ioConfig":{"dropExisting":true}}`)
	s.send(http.MethodPost, "/service/coordinator/v1/compaction/compact", "")
	if n := s.tasks("all"); n != before {
		t.Errorf("[%d] tasks for what was compacted", n-before)
	}
	if err := s.Ingest(t.Context(), inline("INSERT INTO h", `{"t":"2024-01-02T20:00","k":"k9","n":1000}`), nil); err != nil {
		t.Fatal(err)
	}
	s.settle(func(c compactionStatus) bool { return c.Compacted == 2 && s.tasks("all") == before+1 })
	s.send(http.MethodPost, config, `{"dataSource":"h","skipOffsetFromLatest":"PT0S","granularitySpec":{"segmentGranularity":"DAY"},`+
		`"tuningConfig":{"partitionsSpec":{"type":"range","targetRowsPerSegment":10,"partitionDimensions":["k"]}}}`)
	s.settle(func(c compactionStatus) bool { // the status may be from before the settings, and the tasks from behind the first look at them
		segments := s.segments()
		return c.Compacted == 2 && strings.Contains(segments, first+" 1]") && strings.Contains(segments, second+" 1]") && s.tasks("active") == 0
	})
	server.Until(t, "nothing is left to say of the compaction", func() bool { // the last task's end may not have had its round
		s.send(http.MethodPost, "/service/coordinator/v1/compaction/compact", "")
		decisions, err := s.Query(t.Context(), "SELECT COUNT(*) FROM sys.decisions WHERE datasource = 'h' AND topic = 'compact'")
		return err == nil && fmt.Sprint(decisions) == "[[0]]"
	})
}

// Supervisors hold settings too, for either engine; a suspended one does nothing.
func TestCompactionSupervisors(t *testing.T) {
	s := startCompactor(t)
	s.send(http.MethodPost, "/service/coordinator/v1/config/compaction/cluster", `{"useSupervisors":true,"engine":"msq","compactionTaskSlotRatio":1}`)
	const supervisor = "/service/indexer/v1/supervisor"
	const spec = `{"type":"autocompact","suspended":%t,"spec":{"dataSource":"h","skipOffsetFromLatest":"PT0S","maxRowsPerSegment":1000,` +
		`"granularitySpec":{"segmentGranularity":"DAY","queryGranularity":"DAY","rollup":true},"metricsSpec":[{"type":"longSum","name":"n","fieldName":"n"}]}}`
	s.send(http.MethodPost, supervisor, fmt.Sprintf(spec, true))
	s.send(http.MethodPost, "/service/coordinator/v1/compaction/compact", "")
	if n := s.tasks("all"); n != 0 {
		t.Errorf("a suspended supervisor has [%d] tasks", n)
	}
	s.send(http.MethodPost, supervisor+"/autocompact__h/resume", "")
	for deadline := clock.System().Now().Add(time.Minute); ; {
		r, err := s.Query(t.Context(), "SELECT COUNT(*), SUM(n) FROM h")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r); got == "[[4 870]]" {
			break // two days of two keys, rolled up
		} else if clock.System().Now().After(deadline) {
			t.Fatalf("rows and sum %s, segments %s", got, s.segments())
		}
		if err := clock.System().Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		s.tasks("all")
	}
}
