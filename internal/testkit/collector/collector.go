// Package collector receives spans over OTLP/HTTP in tests, and rejects what a real collector would
// reject.
//
// The central type is Collector. It parses bodies strictly by the JSON mapping of
// opentelemetry-proto: unknown members, ids of a wrong length, 64-bit numbers that are not strings,
// and decreasing times fail the test.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Span is one that has come.
type Span struct {
	TraceID, ID, Parent, Name string
	Kind                      int
	Start, End                int64
	Failed                    bool
	Message                   string
	// Attributes are its own, Resource those of its process, as texts.
	Attributes, Resource map[string]string
}

// Collector is a running receiver. Fields are set before the first request.
type Collector struct {
	*httptest.Server
	// Answer, if not nil, answers the request with this number, from 1, instead; false: it did not.
	Answer func(w http.ResponseWriter, number int) bool

	mu       sync.Mutex
	spans    []Span
	requests int
	headers  http.Header // of the last request
}

// Start starts a collector, which stops with the test.
func Start(t testing.TB) *Collector {
	c := &Collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.requests++
		number := c.requests
		c.headers = r.Header.Clone()
		c.mu.Unlock()
		if c.Answer != nil && c.Answer(w, number) {
			return
		}
		spans, err := read(r)
		if err != nil {
			t.Errorf("a request that no collector takes: %v", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.spans = append(c.spans, spans...)
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}") // the sender may be gone
	}))
	t.Cleanup(c.Close)
	return c
}

// Spans returns what has come.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Requests returns how many requests have come, and the headers of the last one.
func (c *Collector) Requests() (int, http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.headers
}

type attributes []struct {
	Key   string `json:"key"`
	Value struct {
		String *string `json:"stringValue"`
		Int    *string `json:"intValue"`
		Bool   *bool   `json:"boolValue"`
	} `json:"value"`
}

func (a attributes) read() (map[string]string, error) {
	out := map[string]string{}
	for _, one := range a {
		if _, twice := out[one.Key]; twice || one.Key == "" {
			return nil, fmt.Errorf("attribute [%s] has no name or comes twice", one.Key)
		}
		switch v := one.Value; {
		case v.String != nil && v.Int == nil && v.Bool == nil:
			out[one.Key] = *v.String
		case v.Int != nil && v.String == nil && v.Bool == nil:
			if _, err := strconv.ParseInt(*v.Int, 10, 64); err != nil {
				return nil, err
			}
			out[one.Key] = *v.Int
		case v.Bool != nil && v.String == nil && v.Int == nil:
			out[one.Key] = strconv.FormatBool(*v.Bool)
		default:
			return nil, fmt.Errorf("attribute [%s] has not one value", one.Key)
		}
	}
	return out, nil
}

type body struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes attributes `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"scope"`
			Spans []sent `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type sent struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	TraceState string     `json:"traceState"`
	Parent     string     `json:"parentSpanId"`
	Name       string     `json:"name"`
	Kind       int        `json:"kind"`
	Start      string     `json:"startTimeUnixNano"`
	End        string     `json:"endTimeUnixNano"`
	Attributes attributes `json:"attributes"`
	Status     struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"status"`
}

func read(r *http.Request) ([]Span, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		return nil, fmt.Errorf("%s %s of type [%s]", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	if r.Header.Get("Content-Encoding") != "gzip" {
		return nil, fmt.Errorf("the encoding is [%s]", r.Header.Get("Content-Encoding"))
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	var b body
	if err := d.Decode(&b); err != nil {
		return nil, err
	}
	var out []Span
	for _, of := range b.ResourceSpans {
		resource, err := of.Resource.Attributes.read()
		if err != nil {
			return nil, err
		}
		if resource["service.name"] == "" {
			return nil, fmt.Errorf("a resource without service.name: %v", resource)
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				one, err := s.read()
				if err != nil {
					return nil, fmt.Errorf("span [%s]: %w", s.Name, err)
				}
				one.Resource = resource
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func (s *sent) read() (Span, error) {
	out := Span{TraceID: s.TraceID, ID: s.SpanID, Parent: s.Parent, Name: s.Name, Kind: s.Kind, Failed: s.Status.Code == 2,
		Message: s.Status.Message}
	for _, id := range []struct {
		text  string
		bytes int
	}{{s.TraceID, 16}, {s.SpanID, 8}, {s.Parent, 8}} {
		if raw, err := hex.DecodeString(id.text); err != nil || len(raw) != id.bytes && (id.text != "" || id.bytes == 16) {
			return out, fmt.Errorf("id [%s] has not [%d] bytes", id.text, id.bytes)
		}
	}
	var err error
	if out.Start, err = strconv.ParseInt(s.Start, 10, 64); err != nil {
		return out, err
	}
	if out.End, err = strconv.ParseInt(s.End, 10, 64); err != nil {
		return out, err
	}
	if s.Name == "" || s.SpanID == "" || s.Kind < 1 || s.Kind > 5 || out.End < out.Start || s.Status.Code != 0 && s.Status.Code != 2 {
		return out, fmt.Errorf("it is not valid: %+v", *s)
	}
	out.Attributes, err = s.Attributes.read()
	return out, err
}
