package lookup

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// DefaultTier is the tier of processes that name none.
const DefaultTier = "__default"

// Container is one configured lookup: a version and what makes the table. The factory is kept as it was posted: what is in it is looked at
// by the processes that load it, and one that they can't read is reported by them.
type Container struct {
	Version string          `json:"version"`
	Factory json.RawMessage `json:"lookupExtractorFactory"`
}

// UnmarshalJSON reads a container. A bare factory, which has a [type], is one without a version.
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

// Replaces reports whether c may take the place of old: its version must be greater as text.
func (c Container) Replaces(old Container) bool { return old.Version == "" || c.Version > old.Version }

// Same reports whether two containers make the same table.
func (c Container) Same(d Container) bool {
	return c.Version == d.Version && bytes.Equal(c.Factory, d.Factory)
}

// factory is what a container says, checked: a table that is there, or a source that is read.
type factory struct {
	table  map[string]string
	source source
	// period is the time between two readings; 0: it is read once.
	period time.Duration
	// timeout bounds one reading; 0: it takes as long as it takes.
	timeout time.Duration
}

// factoryTypes are the type ids, as messages list them.
const factoryTypes = "map, cachedNamespace"

// parse reads a factory. Faults say what is wrong with it.
func parse(text json.RawMessage) (*factory, error) {
	var wire struct {
		Type      string             `json:"type"`
		Map       map[string]*string `json:"map"`
		Namespace json.RawMessage    `json:"extractionNamespace"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return nil, fault.InvalidInput("lookupExtractorFactory is not readable: %v", err)
	}
	switch wire.Type {
	case "map":
		if wire.Map == nil {
			return nil, fault.InvalidInput("A lookup of type [map] needs a [map]")
		}
		return &factory{table: present(wire.Map)}, nil
	case "cachedNamespace":
		if wire.Namespace == nil {
			return nil, fault.InvalidInput("A lookup of type [cachedNamespace] needs an [extractionNamespace]")
		}
		return parseNamespace(wire.Namespace)
	case "":
		return nil, fault.InvalidInput("lookupExtractorFactory has no [type]; known types are [%s]", factoryTypes)
	}
	return nil, fault.InvalidInput("lookupExtractorFactory type [%s] is unknown; known types are [%s]", wire.Type, factoryTypes)
}

// present leaves out keys whose value is null: they are as good as not there.
func present(m map[string]*string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if v != nil {
			out[k] = *v
		}
	}
	return out
}

// parseNamespace reads where the table of a cachedNamespace comes from.
func parseNamespace(text json.RawMessage) (*factory, error) {
	var head struct {
		Type   string             `json:"type"`
		Map    map[string]*string `json:"map"`
		Period *period            `json:"pollPeriod"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		if f := fault.Find(err); f != nil {
			return nil, f
		}
		return nil, fault.InvalidInput("extractionNamespace is not readable: %v", err)
	}
	f := &factory{}
	if head.Period != nil {
		f.period = time.Duration(*head.Period)
	}
	var err error
	switch head.Type {
	case "uri":
		f.source, err = parseFiles(text)
	case "jdbc":
		f.source, f.timeout, err = parseDatabase(text)
	case "staticMap":
		if head.Map == nil {
			return nil, fault.InvalidInput("extractionNamespace of type [staticMap] needs a [map]")
		}
		f.table, f.period = present(head.Map), 0
	default:
		return nil, fault.InvalidInput("extractionNamespace type [%s] is unknown; known types are [uri, jdbc, staticMap]", head.Type)
	}
	return f, err
}

// period is an ISO period, or milliseconds.
type period time.Duration

// UnmarshalJSON reads both forms.
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
