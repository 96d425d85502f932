package progress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProgressOfPartsAndServers(t *testing.T) {
	var none *Progress
	none.Did(&Segment{}, 3)
	none.Expect(&Segment{}, 3, 3)
	none.Forget(&Segment{})
	none.Ask(nil, 1, 1)(true)
	if none.Done() != (Done{}) || none.Asked() != nil {
		t.Error("no progress tells of some")
	}
	p := &Progress{}
	first := p.Ask([]string{"b", "a"}, 2, 100)
	second := p.Ask([]string{"b"}, 1, 50)
	if d := cmp.Diff([]string{"a", "b"}, p.Asked()); d != "" {
		t.Error(d)
	}
	first(true)
	if d := cmp.Diff([]string{"b"}, p.Asked()); d != "" {
		t.Error(d)
	}
	second(false) // it has failed
	if want := (Done{Segments: 3, Rows: 150, SegmentsRead: 2, RowsRead: 100}); p.Done() != want || len(p.Asked()) != 0 {
		t.Errorf("%+v, %v", p.Done(), p.Asked())
	}
	done := p.Done()
	done.Add(Done{SegmentsRead: 5, RowsRead: 20})
	if done.SegmentsRead != 3 || done.RowsRead != 120 {
		t.Errorf("%+v", done)
	}

	var parts Parts
	one, endOne := parts.Begin("q")
	two, endTwo := parts.Begin("q")
	one.Ask(nil, 1, 10)(true)
	two.Ask(nil, 2, 20)(true)
	if d := parts.Done("q"); d.RowsRead != 30 || d.Segments != 3 {
		t.Errorf("%+v", d)
	}
	endOne()
	if d := parts.Done("q"); d.RowsRead != 20 {
		t.Errorf("%+v", d)
	}
	endTwo()
	if parts.Done("q") != (Done{}) || len(parts.mu.running) != 0 {
		t.Error("parts that have ended are known")
	}
}

func TestProgressOfSegments(t *testing.T) {
	p := &Progress{}
	var a, b, c Segment
	p.Expect(&a, 10, 1000)
	p.Expect(&b, 5, 50)
	p.Expect(&c, 0, 7) // nothing of it can count
	p.Did(&a, 4)
	if want := (Done{Segments: 2, Rows: 15, Bytes: 1050, RowsRead: 4, BytesRead: 400}); p.Done() != want {
		t.Errorf("%+v", p.Done())
	}
	p.Did(&a, 6)
	p.Forget(&b)
	p.Forget(&c)
	if want := (Done{Segments: 1, Rows: 10, Bytes: 1000, SegmentsRead: 1, RowsRead: 10, BytesRead: 1000}); p.Done() != want {
		t.Errorf("%+v", p.Done())
	}
}
