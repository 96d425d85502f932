package otlp

import (
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/obs"
)

// The bodies of requests, as proto3 maps ExportTraceServiceRequest to JSON: ids are hexadecimal,
// 64-bit numbers are texts, enumerations numbers.
type (
	requestJSON struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resourceJSON `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resourceJSON struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	spanJSON struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		State      string      `json:"traceState,omitempty"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *statusJSON `json:"status,omitempty"`
	}
	statusJSON struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
)

const (
	// scopeName says which library made the spans.
	scopeName = "github.com/hengedb/henge"
	// statusError is STATUS_CODE_ERROR.
	statusError = 2
	// maxText bounds a text of an attribute, in bytes.
	maxText = 4 << 10
)

func request(resource []string, version string, batch []obs.SpanData) requestJSON {
	of := resourceJSON{Attributes: []attribute{}}
	for i := 0; i+1 < len(resource); i += 2 {
		of.Attributes = append(of.Attributes, encode(obs.Attribute{Key: resource[i], Value: resource[i+1]}))
	}
	spans := make([]spanJSON, len(batch))
	for i := range batch {
		spans[i] = span(&batch[i])
	}
	return requestJSON{[]resourceSpans{{of, []scopeSpans{{scope{scopeName, version}, spans}}}}}
}

func span(d *obs.SpanData) spanJSON {
	s := spanJSON{
		TraceID: d.TraceID, SpanID: d.SpanID, State: d.State, Parent: d.ParentID, Name: d.Name, Kind: int(d.Kind), Start: nanos(d.Began),
		End: nanos(d.Ended),
	}
	for _, a := range d.Attributes {
		s.Attributes = append(s.Attributes, encode(a))
	}
	if d.Failed {
		s.Status = &statusJSON{Code: statusError, Message: cut(d.Message)}
	}
	return s
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func encode(a obs.Attribute) attribute {
	out := attribute{Key: a.Key}
	switch v := a.Value.(type) {
	case string:
		text := cut(v)
		out.Value.String = &text
	case int64:
		text := strconv.FormatInt(v, 10)
		out.Value.Int = &text
	case bool:
		out.Value.Bool = &v
	}
	return out
}

func cut(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
