package obs

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// ended keeps the spans that have ended.
type ended struct {
	mu   sync.Mutex
	list []SpanData
}

func (e *ended) put(s *Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s.Data())
}

func (e *ended) of(name string) (out []SpanData) {
	for _, d := range e.list {
		if d.Name == name {
			out = append(out, d)
		}
	}
	return out
}

func TestSpans(t *testing.T) {
	const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	const unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	for _, c := range []struct {
		name, came string
		ratio      float64
		fresh      bool
		recorded   bool
		flag       string // of what goes on; "": nothing does
	}{
		{"of a caller who records", sampled, 0, false, true, "01"},
		{"of a caller who does not", unsampled, 1, true, false, "00"},
		{"new", "", 1, true, true, "03"},
		{"new, by chance not", "", 0, true, false, "02"},
		{"new, of what begins none", "", 1, false, false, ""},
	} {
		var got ended
		tracer := &Tracer{Ratio: c.ratio, Clock: clock.System(), Ended: got.put}
		h := http.Header{}
		if c.came != "" {
			h.Set("Traceparent", c.came)
		}
		ctx, outer := tracer.Begin(Extract(t.Context(), h), "outer", ServerSpan, c.fresh)
		within, inner := BeginSpan(ctx, "inner", ClientSpan)
		out := http.Header{}
		Inject(within, out)
		inner.End()
		inner.End()
		outer.Text("a", "b")
		outer.Number("n", 1)
		outer.Fail(nil)
		outer.End()
		if (outer != nil) != c.recorded || (inner != nil) != c.recorded {
			t.Errorf("%s: recorded %v %v", c.name, outer != nil, inner != nil)
		}
		next := out.Get("Traceparent")
		if c.flag == "" && next != "" || c.flag != "" && !strings.HasSuffix(next, "-"+c.flag) {
			t.Errorf("%s: traceparent [%s] goes on, not flag [%s]", c.name, next, c.flag)
		}
		if !c.recorded {
			if len(got.list) != 0 {
				t.Errorf("%s: spans %v", c.name, got.list)
			}
			continue
		}
		if len(got.list) != 2 {
			t.Fatalf("%s: spans %v", c.name, got.list)
		}
		in, o := got.list[0], got.list[1]
		if in.ParentID != o.SpanID || in.TraceID != o.TraceID || next != "00-"+in.TraceID+"-"+in.SpanID+"-"+c.flag {
			t.Errorf("%s: inner %+v of outer %+v, [%s] goes on", c.name, in, o, next)
		}
		if c.came != "" && (o.TraceID != c.came[3:35] || o.ParentID != c.came[36:52]) || c.came == "" && o.ParentID != "" {
			t.Errorf("%s: outer %+v", c.name, o)
		}
	}
}

func TestRatio(t *testing.T) {
	tracer := &Tracer{Ratio: 0.25, Clock: clock.System(), Ended: func(*Span) {}}
	recorded := 0
	for range 4000 {
		if _, s := tracer.Begin(t.Context(), "x", ServerSpan, true); s != nil {
			recorded++
		}
	}
	if recorded < 800 || recorded > 1200 { // six standard deviations are 164
		t.Errorf("[%d] of 4,000 were recorded", recorded)
	}
}

func TestScansAreBounded(t *testing.T) {
	var got ended
	tracer := &Tracer{Ratio: 1, Clock: clock.System(), Ended: got.put}
	_, s := tracer.Begin(t.Context(), "run", InternalSpan, true)
	began := clock.System().Now()
	var all sync.WaitGroup
	for range 70 {
		all.Go(func() { s.Scanned("wiki", "", began, time.Microsecond) })
	}
	all.Wait()
	s.End()
	single, rest := got.of("scan"), got.of("scans")
	if len(single) != maxScans || len(rest) != 1 || rest[0].Attributes[0] != (Attribute{"henge.segments", int64(20)}) ||
		rest[0].ParentID != s.Data().SpanID {
		t.Errorf("[%d] scans and %+v", len(single), rest)
	}
	if len(single[0].Attributes) != 1 {
		t.Errorf("attributes %v", single[0].Attributes)
	}
}

// Failures may quote data: spans have them only if a setting says so.
func TestSpansKeepDataBack(t *testing.T) {
	for _, statements := range []bool{false, true} {
		var got ended
		tracer := &Tracer{Ratio: 1, Statements: statements, Clock: clock.System(), Ended: got.put}
		_, s := tracer.Begin(t.Context(), "run", InternalSpan, true)
		s.Statement("SELECT 'secret'")
		s.Fail(fault.InvalidInput("Value [%s] is no number", "secret"))
		s.Fail(errors.New("a second one"))
		s.End()
		d := got.list[0]
		told := strings.Contains(d.Message, "secret")
		for _, a := range d.Attributes {
			told = told || strings.Contains(a.Value.(string), "secret")
		}
		if !d.Failed || told != statements || d.Attributes[len(d.Attributes)-1] != (Attribute{"error.type", "INVALID_INPUT"}) {
			t.Errorf("includeStatements=[%v]: %+v", statements, d)
		}
	}
}

// Where nothing is recorded spans cost nothing.
func TestNoSpanNoAllocation(t *testing.T) {
	ctx := context.WithValue(t.Context(), keyQueryID, "q")
	var off *Tracer
	if n := testing.AllocsPerRun(100, func() {
		ctx, s := off.Begin(ctx, "server", ServerSpan, true)
		ctx, inner := BeginSpan(ctx, "run", InternalSpan)
		inner.Text("a", "b")
		inner.Number("n", 1)
		inner.Scanned("wiki", "s", time.Time{}, 0)
		inner.Fail(nil)
		inner.End()
		s.End()
		_ = s.Into(ctx)
	}); n != 0 {
		t.Errorf("[%v] allocations", n)
	}
}

// Parts are spans of what is recorded, and begin no traces; what is unrecorded has none, here and
// in other processes.
func TestPartsAndWhatIsUnrecorded(t *testing.T) {
	var got ended
	tracer := &Tracer{Ratio: 1, Clock: clock.System(), Ended: got.put}
	outside := WithTracer(t.Context(), tracer)
	if ctx, span := BeginPart(outside, "part", InternalSpan); span != nil || ctx != outside {
		t.Error("a part began a trace")
	}
	if Unrecorded(outside) != outside {
		t.Error("a context without a trace changed")
	}
	ctx, outer := BeginSpan(outside, "outer", InternalSpan)
	_, part := BeginPart(ctx, "part", ClientSpan)
	part.End()
	quiet := Unrecorded(ctx)
	if Unrecorded(quiet) != quiet {
		t.Error("what is unrecorded changed")
	}
	if _, span := BeginPart(quiet, "hidden", InternalSpan); span != nil || SpanOf(quiet) != nil {
		t.Error("a part of what is unrecorded has a span")
	}
	if _, span := BeginSpan(quiet, "hidden", InternalSpan); span != nil {
		t.Error("what is unrecorded has a span")
	}
	h := http.Header{}
	Inject(quiet, h)
	if header := h.Get("Traceparent"); !strings.Contains(header, outer.trace.TraceID()) || !strings.HasSuffix(header, "-02") {
		t.Errorf("others are told [%s]", header)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = BeginPart(outside, "part", InternalSpan) }); n != 0 {
		t.Errorf("a part outside of spans costs [%v] allocations", n)
	}
	outer.End()
	if parts := got.of("part"); len(parts) != 1 || parts[0].ParentID != got.of("outer")[0].SpanID || len(got.list) != 2 {
		t.Errorf("spans %+v", got.list)
	}
}
