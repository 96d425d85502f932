package batch

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// loadOf is a load that keeps so many bad records, and ends with one more than it may have.
func loadOf(p *part, s *subtasks, host string, saved, most int64) *load {
	return &load{
		spec: &spec.Index{Tuning: &spec.Tuning{SavedParseErrors: saved, MaxParseErrors: most}}, part: p, parts: s, host: host,
		clock: func() int64 { return 5 }, log: slog.New(slog.DiscardHandler),
	}
}

// subtasksAt are the subtasks of a task without name, in a process.
func subtasksAt(host string) *subtasks {
	return newSubtasks(&report{clock: fakeclock.New(time.UnixMilli(5))}, host)
}

func TestReadersInOtherProcessesCountAsHere(t *testing.T) {
	entities, err := (&ingest.Inline{Data: "x"}).List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	here := loadOf(newPart(0), subtasksAt("here:1"), "here:1", 3, 4)
	there := loadOf(newPart(0), subtasksAt("there:2"), "there:2", 3, 4)
	there.far = true

	own := here.reader(buildSegments, 0)
	own.count.processed.Add(10)
	if err := own.bad("own", "unparseable"); err != nil {
		t.Fatal(err)
	}
	send := func(from, to *reader, ended bool) error {
		t.Helper()
		text, err := from.State(ended)
		if err != nil {
			t.Fatal(err)
		}
		return to.Set(text)
	}
	far, shadow := there.reader(buildSegments, 1), here.reader(buildSegments, 1)
	end := there.parts.begin(ingest.Split{Entity: entities[0], File: 1}, far)
	far.count.processed.Add(5)
	for _, input := range []string{"a", "b", "c"} {
		if err := far.bad(input, "unparseable"); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(far, shadow, false); err != nil {
		t.Fatal(err)
	}
	if n := here.part.counted(buildSegments).Processed; n != 15 {
		t.Errorf("together they processed [%d]", n)
	}
	var inputs []string
	for _, e := range here.part.events(buildSegments) {
		inputs = append(inputs, e.Input)
	}
	if d := cmp.Diff([]string{"own", "a", "b"}, inputs); d != "" {
		t.Errorf("of those that are kept: %s", d)
	}
	if got, err := here.parts.ask("progress"); err != nil || got.(progress).Running != 1 {
		t.Errorf("a split elsewhere: %+v %v", got, err)
	}
	end(false)
	if err := far.bad("d", "unparseable"); err != nil {
		t.Errorf("a reader does not know what others have met: %v", err)
	}
	if err := send(far, shadow, true); err == nil || err.Error() != "Max parse exceptions[4] exceeded" {
		t.Errorf("too many together: %v", err)
	}

	// The worker is lost, and another takes its place: what it had met does not count.
	again := here.reader(buildSegments, 1)
	if n, failed := here.part.counted(buildSegments).Processed, here.failed.Load(); n != 10 || failed != 1 {
		t.Errorf("of a lost worker there is something left: [%d] rows, [%d] bad ones", n, failed)
	}
	if got, err := here.parts.ask("progress"); err != nil || got.(progress).Failed != 1 {
		t.Errorf("the split of a lost worker: %+v %v", got, err)
	}
	here.parts.begin(ingest.Split{Entity: entities[0], File: 1}, again)(false)
	if got, err := here.parts.ask("progress"); err != nil || got.(progress).Succeeded != 1 || got.(progress).Total != 1 {
		t.Errorf("the split again: %+v %v", got, err)
	}
	if err := again.Set([]byte("{")); err == nil {
		t.Error("what is no state is taken")
	}
}

func TestWhatIsObservedOfSplitsStaysInTheirOrder(t *testing.T) {
	here, there := loadOf(newPart(0), subtasksAt(""), "", 0, 0), loadOf(newPart(0), subtasksAt(""), "", 0, 0)
	shape := func(name string) *ingest.Shape {
		o, s := &record.Object{}, &ingest.Shape{}
		o.Add(name, int64(1))
		s.Add(o)
		return s
	}
	here.reader(determinePartitions, 0).observed(ingest.Split{File: 1}, shape("c"))
	far := there.reader(determinePartitions, 1)
	far.observed(ingest.Split{File: 0, Offset: 7}, shape("b"))
	far.observed(ingest.Split{File: 0}, shape("a"))
	text, err := far.State(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := here.reader(determinePartitions, 1).Set(text); err != nil {
		t.Fatal(err)
	}
	var all ingest.Shape
	for _, s := range here.part.observed() {
		all.Merge(s.Shape)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, all.Names()); d != "" || all.Of("b").Longs != 1 {
		t.Error(d)
	}
}
