package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
)

// Limits limit the resources of the requests of a port. A nil Limits has no limits.
type Limits struct {
	// Request, Lookup and Config are the maximum body sizes of the endpoints of these classes.
	Request, Lookup, Config Size
	// Headers is the maximum header size of a request.
	Headers Size
	// Memory is the budget for bodies of running requests.
	Memory *budget.Budget
	// Idle is the maximum time for which a response waits for its client, and a body for its sender;
	// 0: no limit.
	Idle time.Duration
	// Expansion is the maximum expansion factor of a compressed body; 0: no limit except the maximum
	// size.
	Expansion int64
	// Decoders limits the number of large bodies that are decoded concurrently; nil: no limit.
	Decoders chan struct{}
}

// Size is the maximum size of a body, and the setting that defines it.
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
	// unpacks says that the endpoint unpacks bodies itself.
	unpacks bool
}

var (
	requestSize = func(l *Limits) Size { return l.Request }
	lookupSize  = func(l *Limits) Size { return l.Lookup }
	configSize  = func(l *Limits) Size { return l.Config }

	statementBody = bodyKind{size: requestSize, perByte: 4, perToken: 40, inTexts: true}
	specBody      = bodyKind{size: requestSize, perByte: 8, perToken: 64}
	lookupBody    = bodyKind{size: lookupSize, perByte: 4, perToken: 64}
	configBody    = bodyKind{size: configSize, perByte: 4, perToken: 64}
	internalBody  = bodyKind{perByte: 4, unpacks: true}
	// fileBody goes to disk as it comes: it takes no memory, and is not decoded.
	fileBody = bodyKind{}
	// rowsBody is of rows, which may be packed in more ways.
	rowsBody = bodyKind{size: requestSize, perByte: 8, perToken: 64, unpacks: true}
)

// bodies says what the bodies of endpoints are, by the paths that they are at or below; the first
// that fits counts. All others are configurations.
var bodies = []struct {
	path string
	kind bodyKind
}{
	{"/service/v2/sql", statementBody},
	{"/service/v2/ingest", rowsBody},
	{"/service/v2", specBody},
	{"/service/indexer/v1/task", specBody},
	{"/service/indexer/v1/sampler", specBody},
	{"/service/indexer/v1/survey", specBody},
	{"/service/indexer/v1/supervisor", specBody},
	{"/service/indexer/v1/uploads", fileBody},
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

// checkHeaders refuses requests whose header is larger than it may be.
func (l *Limits) checkHeaders(r *http.Request) error {
	if l == nil || l.Headers.Bytes <= 0 {
		return nil
	}
	size := int64(len(r.Method) + len(r.RequestURI) + len(r.Proto) + len(r.Host))
	for name, values := range r.Header {
		for _, value := range values {
			size += int64(len(name) + len(value) + len(": \r\n"))
		}
	}
	if size <= l.Headers.Bytes+headerSlack {
		return nil
	}
	f := fault.InvalidInput("The header of the request has [%d] bytes; at most [%d] are read. Send less, or raise %s",
		size, l.Headers.Bytes, l.Headers.Setting)
	return withStatus{fault: f, status: http.StatusRequestHeaderFieldsTooLarge}
}

// headerSlack is how much larger than its limit a header may be, as in net/http: the limit is one
// of memory, and the names that clients add by themselves should not break it.
const headerSlack = 4 << 10
