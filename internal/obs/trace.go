package obs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
)

// Trace is a position in a distributed trace, as in the headers traceparent and tracestate of the
// W3C recommendation "Trace Context". Henge propagates traces, so that a query can be followed from
// its caller through the roles, and records its own spans if there is a Tracer.
type Trace struct {
	trace [16]byte
	span  [8]byte
	flags byte
	state string // tracestate, untouched
	// recorded says that the span is one of this process: it is the parent of what others do.
	recorded bool
}

// The headers of a trace.
const (
	traceparentHeader = "Traceparent"
	tracestateHeader  = "Tracestate"
)

// maxTraceState is the length of tracestate that must be handed on; longer ones may be dropped, and
// are.
const maxTraceState = 512

// traceparentLength is that of version 00: version, trace id, parent id and flags in hexadecimal,
// with dashes.
const traceparentLength = len("00-") + 32 + len("-") + 16 + len("-") + 2

// ParseTraceparent parses a traceparent header. It returns false for headers that are invalid
// according to the recommendation. A version higher than 00 may have more fields, which are
// ignored.
func ParseTraceparent(s string) (Trace, bool) {
	var t Trace
	if len(s) < traceparentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return t, false
	}
	var version, flags [1]byte
	if !lowerHex(version[:], s[:2]) || !lowerHex(t.trace[:], s[3:35]) || !lowerHex(t.span[:], s[36:52]) || !lowerHex(flags[:], s[53:55]) {
		return t, false
	}
	switch {
	case version[0] == 0xff, t.trace == [16]byte{}, t.span == [8]byte{}:
		return t, false
	case version[0] == 0 && len(s) != traceparentLength, len(s) > traceparentLength && s[traceparentLength] != '-':
		return t, false
	}
	t.flags = flags[0]
	return t, true
}

// lowerHex decodes s, which may have lower-case digits only.
func lowerHex(dst []byte, s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}

// Child returns the trace with a new parent id, for a request to another role.
func (t Trace) Child() Trace {
	t.span = [8]byte{}
	for t.span == [8]byte{} {
		_, _ = rand.Read(t.span[:])
	}
	return t
}

// TraceID returns the id of the whole trace, 32 hexadecimal digits.
func (t Trace) TraceID() string { return hexOf(t.trace[:]) }

func hexOf(id []byte) string { return hex.EncodeToString(id) }

// Sampled reports whether the caller records this trace.
func (t Trace) Sampled() bool { return t.flags&1 != 0 }

// String returns the traceparent header, version 00. It keeps the two defined flags: sampled and
// random.
func (t Trace) String() string {
	dst := append(make([]byte, 0, traceparentLength), "00-"...)
	dst = hex.AppendEncode(dst, t.trace[:])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, t.span[:])
	dst = append(dst, '-')
	return string(hex.AppendEncode(dst, []byte{t.flags & 3}))
}

// WithTrace returns a context of the trace.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, keyTrace, t)
}

// TraceOf returns the trace of a context, if it has one.
func TraceOf(ctx context.Context) (Trace, bool) {
	t, ok := ctx.Value(keyTrace).(Trace)
	return t, ok
}

// Extract returns a context of the trace in the headers of a request, or ctx if they have no valid
// one.
func Extract(ctx context.Context, h http.Header) context.Context {
	// Two traceparent headers are as invalid as a malformed one.
	if values := h[traceparentHeader]; len(values) == 1 {
		if t, ok := ParseTraceparent(values[0]); ok {
			if states := h[tracestateHeader]; len(states) == 1 && len(states[0]) <= maxTraceState {
				t.state = states[0]
			}
			return WithTrace(ctx, t)
		}
	}
	return ctx
}

// Inject adds the trace of a context to the headers of a request to another role: as a child of the
// span of the context or, if nothing is recorded, of the incoming trace.
func Inject(ctx context.Context, h http.Header) {
	t, ok := TraceOf(ctx)
	if !ok {
		return
	}
	if !t.recorded {
		t = t.Child()
	}
	h.Set(traceparentHeader, t.String())
	if t.state != "" {
		h.Set(tracestateHeader, t.state)
	}
}
