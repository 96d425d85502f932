package assign

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

const once = `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`

// One server is a tenth of the others. By turns it gets as many segments as they, until it is full;
// by what it costs, none; and with smartSegmentLoading it is always what it costs that counts.
func TestSegmentsAreGivenByTurnsWhereTheSettingsSaySo(t *testing.T) {
	for _, test := range []struct {
		settings string
		days     int
		want     string
	}{
		{`{"smartSegmentLoading":false}`, 6, "2 2 2"},
		{`{"smartSegmentLoading":false,"useRoundRobinSegmentAssignment":true}`, 12, "5 5 2"},
		{`{"smartSegmentLoading":false,"useRoundRobinSegmentAssignment":false}`, 6, "3 3 0"},
		{`{"useRoundRobinSegmentAssignment":true}`, 6, "3 3 0"},
	} {
		w := newWorld(t, "a", "b")
		w.add("c", "hot", 250)
		w.settings = strings.Replace(test.settings, "{", `{"maxSegmentsToMove":0,`, 1)
		for day := 1; day <= test.days; day++ {
			w.segment(day, "1", 0)
		}
		if err := w.visit(false, once); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, address := range slices.Sorted(maps.Keys(w.servers)) {
			got = append(got, fmt.Sprint(len(w.servers[address].held)))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: servers hold %s, want %s", test.settings, got, test.want)
		}
	}
}

// A server that is to load in a hurry is told so with what it is to load, and a server that no
// longer is with the next command.
func TestServersAreToldToLoadInAHurry(t *testing.T) {
	w := newWorld(t, "a", "b")
	for _, test := range []struct {
		settings string
		want     string
	}{
		{`{"turboLoadingNodes":["b:1"]}`, "false true"},
		{`{"turboLoadingNodes":["a:1","gone:1"]}`, "true false"},
		{`{}`, "false false"},
	} {
		w.settings = test.settings
		for day := range 4 {
			w.segment(len(w.segments)+day+1, "1", 0)
		}
		if err := w.visit(true, once); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(w.servers["a:1"].turbo, " ", w.servers["b:1"].turbo); got != test.want {
			t.Errorf("%s: in a hurry are %s, want %s", test.settings, got, test.want)
		}
	}
}

func TestSegmentsThatWaitForLongAreTold(t *testing.T) {
	for _, test := range []struct {
		settings string
		periods  int
	}{
		{`{"smartSegmentLoading":false}`, 15},
		{`{"smartSegmentLoading":false,"replicantLifetime":2}`, 2},
		{`{"replicantLifetime":2}`, 60},
	} {
		w := newWorld(t, "a")
		var log bytes.Buffer
		w.duty.o.Log, w.duty.o.Follow.Period = slog.New(slog.NewTextHandler(&log, nil)), time.Minute
		w.settings = test.settings
		w.servers["a:1"].slow = []string{}
		w.segment(1, "1", 0)
		w.segment(2, "1", 0)
		for n := range test.periods + 3 {
			if err := w.visit(true, once); err != nil {
				t.Fatal(err)
			}
			if told := strings.Count(log.String(), "server=a:1 segments=2"); told != min(1, n/test.periods) {
				t.Fatalf("%s: after [%d] periods: %s", test.settings, n, log.String())
			}
			w.duty.o.Clock.(*fakeclock.Clock).Advance(time.Minute)
		}
	}
}

func TestWhatIsCountedIsLoggedWhereTheSettingsAsk(t *testing.T) {
	w := newWorld(t, "a", "b")
	var log bytes.Buffer
	w.duty.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	w.segment(1, "1", 0)
	w.settings = `{"debugDimensions":{"server":"b:1","tier":"hot"}}`
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "metric=segment/loadQueue/assigned value=1 server=b:1") || strings.Contains(got, "a:1") {
		t.Errorf("logged: %s", got)
	}
	log.Reset()
	w.settings = `{"debugDimensions":null}`
	w.segment(2, "1", 0)
	if err := w.visit(true, twice); err != nil || log.Len() > 0 {
		t.Errorf("nothing is asked for: %s %v", log.String(), err)
	}
}
