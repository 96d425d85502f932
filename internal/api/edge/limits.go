package edge

import (
	"context"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/budget"
)

// Limits bound what the requests of a port cost the process. A nil Limits bounds nothing.
type Limits struct {
	// Request, Lookup and Config are the largest bodies of the endpoints of these sizes.
	Request, Lookup, Config Size
	// Memory is what bodies are reserved from while their requests are answered.
	Memory *budget.Budget
	// Idle is how long an answer may wait for its client, and a body for its sender; 0: any time.
	Idle time.Duration
	// Decoders are taken by large bodies while they are decoded; nil: any number are.
	Decoders chan struct{}
}

// Size is how large a body may be, and the setting that says so.
type Size struct {
	Bytes   int64
	Setting string
}

// internalPaths begin the endpoints that processes of a cluster ask each other at. An answer waits
// there as long as the query that it is a part of.
const internalPaths = "/service-internal/"

// idle returns how long an answer of a path may wait for its client.
func (l *Limits) idle(path string) time.Duration {
	if l == nil || strings.HasPrefix(path, internalPaths) {
		return 0
	}
	return l.Idle
}

// bodyKind is what is known of the bodies of an endpoint.
type bodyKind struct {
	// size says which limit applies; nil: the endpoint has its own.
	size func(*Limits) Size
	// perByte and perToken estimate the memory that a body takes from its first byte to the end of
	// planning, as measured with bodies of a few large texts and of many small values.
	perByte, perToken int64
	// inTexts counts tokens within texts too: a text is a statement.
	inTexts bool
}

var (
	requestSize = func(l *Limits) Size { return l.Request }
	lookupSize  = func(l *Limits) Size { return l.Lookup }
	configSize  = func(l *Limits) Size { return l.Config }

	statementBody = bodyKind{requestSize, 4, 40, true}
	specBody      = bodyKind{requestSize, 8, 64, false}
	lookupBody    = bodyKind{lookupSize, 4, 64, false}
	configBody    = bodyKind{configSize, 4, 64, false}
	internalBody  = bodyKind{nil, 4, 0, false}
)

// bodies says what the bodies of endpoints are, by the paths that they are at or below; the first
// that fits counts. All others are configurations.
var bodies = []struct {
	path string
	kind bodyKind
}{
	{"/service/v2/sql", statementBody},
	{"/service/v2", specBody},
	{"/service/indexer/v1/task", specBody},
	{"/service/indexer/v1/sampler", specBody},
	{"/service/indexer/v1/supervisor", specBody},
	{"/service/coordinator/v1/lookups", lookupBody},
	{"/service/listen/v1/lookups", lookupBody},
	{"/service/coordinator/v1/datasources", lookupBody}, // ids of segments
	{"/service/indexer/v1/datasources", lookupBody},     // likewise
	{strings.TrimSuffix(internalPaths, "/"), internalBody},
}

// kindOf returns what the bodies of a pattern are. A pattern that ends with a slash passes its
// requests on to routes that know: ok is false.
func kindOf(pattern string) (kind bodyKind, ok bool) {
	_, path, found := strings.Cut(pattern, " ")
	if !found {
		path = pattern
	}
	path = strings.TrimSuffix(path, "/{$}")
	if strings.HasSuffix(path, "/") {
		return bodyKind{}, false
	}
	for _, b := range bodies {
		if rest, below := strings.CutPrefix(path, b.path); below && (rest == "" || rest[0] == '/') {
			return b.kind, true
		}
	}
	return configBody, true
}

type limitsKey struct{}

func limitsOf(ctx context.Context) *Limits {
	l, _ := ctx.Value(limitsKey{}).(*Limits)
	return l
}
