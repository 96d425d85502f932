package lookup

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// DefaultTier is the tier of processes without a configured tier.
const DefaultTier = "__default"

// Container is one configured lookup: a version and the definition of its table. The factory is
// stored as received. The processes that load it parse it, and report a factory that they can't
// parse.
type Container struct {
	Version string          `json:"version"`
	Factory json.RawMessage `json:"lookupExtractorFactory"`
}

// UnmarshalJSON parses a container. A bare factory, which has a [type], is a container without a
// version.
func (c *Container) UnmarshalJSON(text []byte) error {
	var wire struct {
		Version *string         `json:"version"`
		Factory json.RawMessage `json:"lookupExtractorFactory"`
	}
	if err := jsontext.Read(text, &wire); err != nil {
		return fault.InvalidInput("A lookup must be an object with [version] and [lookupExtractorFactory]")
	}
	*c = Container{Factory: wire.Factory}
	if wire.Version != nil {
		c.Version = *wire.Version
	}
	if trimmed := bytes.TrimSpace(c.Factory); len(trimmed) == 0 || trimmed[0] != '{' {
		return fault.InvalidInput("A lookup needs an object [lookupExtractorFactory]")
	}
	return nil
}

// Replaces reports whether c may replace old: its version must be greater in string order.
func (c Container) Replaces(old Container) bool { return old.Version == "" || c.Version > old.Version }

// Same reports whether two containers define the same table.
func (c Container) Same(d Container) bool {
	return c.Version == d.Version && bytes.Equal(c.Factory, d.Factory)
}

// factory is what a container says, checked: a table that is there, or a source that is read.
type factory struct {
	table  map[string]string
	source source
	// follower is read in the place of source.
	follower follower
	// period is the time between two readings; 0: it is read once.
	period time.Duration
	// jitter is how much later than after a period a reading may begin, so that not all processes ask
	// a source at once.
	jitter time.Duration
	// timeout bounds one reading.
	timeout time.Duration
	// share is the part of memory from which on the size of a table is warned of; 0: it is not.
	share float64
}

// factoryTypes are the type ids, as messages list them.
const factoryTypes = "map, cachedNamespace, kafka"

// outside reports whether the table is read from somewhere else.
func (f *factory) outside() bool { return f.source != nil || f.follower != nil }

// Check rejects a factory that no process could load, because its type is unknown or a part is
// missing.
func Check(factory json.RawMessage) error {
	_, err := parse(factory)
	return err
}

// parse reads a factory. Faults say what is wrong with it.
func parse(text json.RawMessage) (*factory, error) {
	var wire struct {
		Type      string          `json:"type"`
		Map       texts           `json:"map"`
		Namespace json.RawMessage `json:"extractionNamespace"`
	}
	if err := jsontext.Read(text, &wire); err != nil {
		return nil, unreadable("lookupExtractorFactory", err)
	}
	switch wire.Type {
	case "map":
		if wire.Map == nil {
			return nil, fault.InvalidInput("A lookup of type [map] needs a [map]")
		}
		return &factory{table: wire.Map}, nil
	case "cachedNamespace":
		if wire.Namespace == nil {
			return nil, fault.InvalidInput("A lookup of type [cachedNamespace] needs an [extractionNamespace]")
		}
		return parseNamespace(wire.Namespace)
	case "kafka":
		return parseTopic(text)
	case "":
		return nil, fault.InvalidInput("lookupExtractorFactory has no [type]; known types are [%s]", factoryTypes)
	}
	return nil, fault.InvalidInput("lookupExtractorFactory type [%s] is unknown; known types are [%s]", wire.Type, factoryTypes)
}

// unreadable is the fault of JSON that could not be read, which may be a fault of its own.
func unreadable(what string, err error) error {
	if f := fault.Find(err); f != nil {
		return f
	}
	return fault.InvalidInput("%s is not readable: %s", what, fault.JSONProblem(err))
}

// texts is a map whose values may be numbers and booleans, too, which are the texts they are
// written as. Keys whose value is null are as good as not there.
type texts map[string]string

// UnmarshalJSON parses a map. Null is an empty map.
func (m *texts) UnmarshalJSON(text []byte) error {
	var values map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&values); err != nil || values == nil {
		return err
	}
	*m = make(texts, len(values))
	for k, v := range values {
		switch text, ok := scalarText(v); {
		case ok:
			(*m)[k] = text
		case v != nil:
			return fault.InvalidInput("The value of key [%s] of a lookup must be a text, a number or a boolean", k)
		}
	}
	return nil
}

// scalarText returns the text of a value that encoding/json read; false: it is null, an object or
// an array.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// parseNamespace reads where the table of a cachedNamespace comes from.
func parseNamespace(text json.RawMessage) (*factory, error) {
	var head struct {
		Type    string  `json:"type"`
		Map     texts   `json:"map"`
		Period  *period `json:"pollPeriod"`
		Timeout *int64  `json:"loadTimeoutSeconds"`
		Jitter  int64   `json:"jitterSeconds"`
		Share   float64 `json:"maxHeapPercentage"`
	}
	if err := jsontext.Read(text, &head); err != nil {
		return nil, unreadable("extractionNamespace", err)
	}
	f := &factory{timeout: fileTimeout, jitter: time.Duration(min(max(head.Jitter, 0), maxTimeoutSeconds)) * time.Second, share: max(head.Share, 0) / 100}
	if head.Type == "jdbc" {
		f.timeout = jdbcTimeout
	}
	if head.Timeout != nil && *head.Timeout > 0 {
		f.timeout = time.Duration(min(*head.Timeout, maxTimeoutSeconds)) * time.Second
	}
	if head.Period != nil {
		f.period = time.Duration(*head.Period)
	}
	var err error
	switch head.Type {
	case "uri":
		f.source, err = parseFiles(text)
	case "jdbc":
		f.source, err = parseDatabase(text)
	case "staticMap":
		if head.Map == nil {
			return nil, fault.InvalidInput("extractionNamespace of type [staticMap] needs a [map]")
		}
		f.table, f.period = head.Map, 0
	default:
		return nil, fault.InvalidInput("extractionNamespace type [%s] is unknown; known types are [uri, jdbc, staticMap]", head.Type)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// period is an ISO period, or milliseconds.
type period time.Duration

// UnmarshalJSON parses both forms.
func (p *period) UnmarshalJSON(text []byte) error {
	var ms int64
	if json.Unmarshal(text, &ms) == nil {
		*p = period(time.Duration(ms) * time.Millisecond)
	} else {
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return fault.InvalidInput("pollPeriod must be a period such as PT5M")
		}
		iso, err := chrono.ParsePeriod(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		ms, fixed := iso.StandardMillis()
		if !fixed {
			return fault.InvalidInput("pollPeriod [%s] has months or years, whose length varies", name)
		}
		*p = period(time.Duration(ms) * time.Millisecond)
	}
	if *p < 0 {
		return fault.InvalidInput("pollPeriod must not be negative")
	}
	return nil
}
