package obs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// SpanKind is the side of a request that a span represents, with the numbers of OpenTelemetry.
type SpanKind int

// The span kinds.
const (
	InternalSpan SpanKind = 1
	ServerSpan   SpanKind = 2
	ClientSpan   SpanKind = 3
)

// Tracer starts the spans of a process. A nil Tracer starts none.
type Tracer struct {
	// Ratio is the fraction of recorded traces, from 0 to 1, among traces that start in this process.
	// For incoming traces, their flag decides.
	Ratio float64
	// Statements includes the text of statements in spans, and messages of failures, which may quote
	// it.
	Statements bool
	Clock      clock.Clock
	// Ended is called with each span when it has ended. It must not block.
	Ended func(*Span)
}

// Attribute is an attribute of a span. Value is a string, an int64 or a bool.
type Attribute struct {
	Key   string
	Value any
}

// maxScans is how many scans of segments a span has as spans of their own. The rest are one
// together.
const maxScans = 50

// Span is a unit of work in a trace. Methods of a nil Span do nothing. Methods may be called from
// many goroutines.
type Span struct {
	Name string
	Kind SpanKind
	// Parent is the id of the parent span; zeros: there is none.
	Parent [8]byte
	Began  time.Time

	tracer *Tracer
	trace  Trace // with the span's own id

	mu struct {
		sync.Mutex
		ended      time.Time
		attributes []Attribute
		failed     bool
		failure    string
		scans      int
		rest       scanRest
	}
}

// scanRest are the scans beyond maxScans.
type scanRest struct {
	segments    int64
	busy        time.Duration
	began, last time.Time
}

// WithTracer returns a context in which BeginSpan may start traces.
func WithTracer(ctx context.Context, t *Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, keyTracer, t)
}

// SpanOf returns the span of ctx; nil: none is recorded.
func SpanOf(ctx context.Context) *Span {
	s, _ := ctx.Value(keySpan).(*Span)
	return s
}

// BeginSpan starts a child of the span of ctx, or a span of the incoming trace, or a new trace if
// ctx has a Tracer. The span is nil if nothing is recorded.
func BeginSpan(ctx context.Context, name string, kind SpanKind) (context.Context, *Span) {
	if parent := SpanOf(ctx); parent != nil {
		return parent.tracer.begin(ctx, parent.trace, parent.trace.span, name, kind)
	}
	t, _ := ctx.Value(keyTracer).(*Tracer)
	return t.Begin(ctx, name, kind, true)
}

// BeginPart starts a child of the span of ctx. It starts nothing outside of a span: frequent
// background work of roles, such as reading the metadata store, is traced only as a part of other
// work.
func BeginPart(ctx context.Context, name string, kind SpanKind) (context.Context, *Span) {
	parent := SpanOf(ctx)
	if parent == nil {
		return ctx, nil
	}
	return parent.tracer.begin(ctx, parent.trace, parent.trace.span, name, kind)
}

// Begin starts a span of the incoming trace of ctx, otherwise of a new trace if fresh allows it. If
// a new trace is not recorded, the context says so, so that other processes do not record it
// either.
func (t *Tracer) Begin(ctx context.Context, name string, kind SpanKind, fresh bool) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	in, came := TraceOf(ctx)
	switch {
	case came && !in.Sampled(), !came && !fresh:
		return ctx, nil
	case came:
		return t.begin(ctx, in, in.span, name, kind)
	}
	in = newTrace()
	if !t.records(in) {
		return WithTrace(ctx, in), nil
	}
	in.flags |= 1
	return t.begin(ctx, in, [8]byte{}, name, kind)
}

func (t *Tracer) begin(ctx context.Context, of Trace, parent [8]byte, name string, kind SpanKind) (context.Context, *Span) {
	s := &Span{Name: name, Kind: kind, Parent: parent, Began: t.Clock.Now(), tracer: t, trace: of.Child()}
	s.trace.recorded = true
	return context.WithValue(WithTrace(ctx, s.trace), keySpan, s), s
}

// newTrace returns a trace with a random id, as its flag says.
func newTrace() Trace {
	t := Trace{flags: 2}
	for t.trace == [16]byte{} {
		_, _ = rand.Read(t.trace[:])
	}
	return t.Child()
}

// records decides by the id of a trace, so that all processes with one ratio decide alike.
func (t *Tracer) records(of Trace) bool {
	if t.Ratio >= 1 {
		return true
	}
	return float64(binary.BigEndian.Uint64(of.trace[8:])>>1) < t.Ratio*math.MaxInt64
}

// Unrecorded returns ctx without its span and with an unrecorded trace, for very frequent requests,
// such as those that read frames of another worker.
func Unrecorded(ctx context.Context) context.Context {
	t, ok := TraceOf(ctx)
	if !ok || !t.Sampled() {
		return ctx
	}
	t.flags &^= 1
	return context.WithValue(WithTrace(ctx, t), keySpan, (*Span)(nil))
}

// Into returns ctx with the span.
func (s *Span) Into(ctx context.Context) context.Context {
	if s == nil || SpanOf(ctx) == s {
		return ctx
	}
	return context.WithValue(WithTrace(ctx, s.trace), keySpan, s)
}

// Text adds an attribute.
func (s *Span) Text(key, value string) {
	if s != nil && value != "" {
		s.add(Attribute{key, value})
	}
}

// Number adds an attribute.
func (s *Span) Number(key string, value int64) {
	if s != nil {
		s.add(Attribute{key, value})
	}
}

// Statement adds the text of a statement, if spans may contain it.
func (s *Span) Statement(text string) {
	if s != nil && s.tracer.Statements {
		s.add(Attribute{"db.query.text", text})
	}
}

func (s *Span) add(a Attribute) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.attributes = append(s.mu.attributes, a)
}

// Rename renames the span when a better name is known.
func (s *Span) Rename(name string) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Name = name
	}
}

// Fail records the failure of the work, if err is not nil. Spans contain the category of the
// failure, because its message may quote data.
func (s *Span) Fail(err error) {
	if s == nil || err == nil {
		return
	}
	f := fault.Classify(err)
	message := ""
	if s.tracer.Statements {
		message = f.Message
	}
	s.Failed(string(f.Category), message)
}

// Failed records the failure of the work, with a word for its kind.
func (s *Span) Failed(kind, message string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.failed {
		s.mu.failed, s.mu.failure = true, message
		s.mu.attributes = append(s.mu.attributes, Attribute{"error.type", kind})
	}
}

// Scanned adds a span for a segment that was read, with its start and total duration.
func (s *Span) Scanned(dataSource, segment string, began time.Time, busy time.Duration) {
	if s == nil {
		return
	}
	now := s.tracer.Clock.Now()
	s.mu.Lock()
	s.mu.scans++
	many := s.mu.scans > maxScans
	if many {
		r := &s.mu.rest
		if r.segments == 0 || began.Before(r.began) {
			r.began = began
		}
		r.segments, r.busy, r.last = r.segments+1, r.busy+busy, now
	}
	s.mu.Unlock()
	if many {
		return
	}
	s.done("scan", began, minTime(began.Add(busy), now), Attribute{"henge.datasource", dataSource}, Attribute{"henge.segment", segment})
}

// done adds a span that has ended.
func (s *Span) done(name string, began, ended time.Time, of ...Attribute) {
	part := &Span{Name: name, Kind: InternalSpan, Parent: s.trace.span, Began: began, tracer: s.tracer, trace: s.trace.Child()}
	part.mu.ended = ended
	for _, a := range of {
		if a.Value != "" {
			part.mu.attributes = append(part.mu.attributes, a)
		}
	}
	s.tracer.Ended(part)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// End ends the span. Further calls do nothing.
func (s *Span) End() {
	if s == nil {
		return
	}
	now := s.tracer.Clock.Now()
	s.mu.Lock()
	again, rest := !s.mu.ended.IsZero(), s.mu.rest
	if !again {
		s.mu.ended = now
	}
	s.mu.Unlock()
	if again {
		return
	}
	if rest.segments > 0 {
		s.done("scans", rest.began, rest.last, Attribute{"henge.segments", rest.segments}, Attribute{"henge.busy_us", rest.busy.Microseconds()})
	}
	s.tracer.Ended(s)
}

// SpanData is an ended span in exported form.
type SpanData struct {
	TraceID, SpanID, ParentID string // in hexadecimal; ParentID "": there is none
	State                     string
	Name                      string
	Kind                      SpanKind
	Began, Ended              time.Time
	Attributes                []Attribute
	Failed                    bool
	Message                   string
}

// Data returns an ended span in exported form.
func (s *Span) Data() SpanData {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := SpanData{
		TraceID: s.trace.TraceID(), SpanID: hexOf(s.trace.span[:]), State: s.trace.state, Name: s.Name, Kind: s.Kind, Began: s.Began,
		Ended: s.mu.ended, Attributes: s.mu.attributes, Failed: s.mu.failed, Message: s.mu.failure,
	}
	if s.Parent != [8]byte{} {
		d.ParentID = hexOf(s.Parent[:])
	}
	return d
}
