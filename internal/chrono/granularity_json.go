package chrono

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// granularityJSON is the wire form of a granularity that is not just a name.
type granularityJSON struct {
	Type     string          `json:"type"`
	Period   string          `json:"period"`
	TimeZone string          `json:"timeZone"`
	Origin   json.RawMessage `json:"origin"`
	Duration json.RawMessage `json:"duration"`
	// Intervals are the buckets of type intervals, which is written for other processes.
	Intervals []Interval `json:"intervals"`
}

// MarshalJSON writes a name for standard periods in UTC ("DAY"), else an object: {"type":"all"},
// {"type":"none"}, {"type":"period","period":"P1D","timeZone":"Europe/Berlin","origin":null},
// {"type":"duration","duration":3600000,"origin":"..."}, {"type":"intervals","intervals":["..."]}
// for listed buckets.
func (g Granularity) MarshalJSON() ([]byte, error) {
	switch g.kind {
	case kindAll:
		return []byte(`{"type":"all"}`), nil
	case kindNone:
		return []byte(`{"type":"none"}`), nil
	case kindChunks:
		return json.Marshal(struct {
			Type      string     `json:"type"`
			Intervals []Interval `json:"intervals"`
		}{"intervals", g.chunks})
	}
	if name, ok := g.Name(); ok {
		return strconv.AppendQuote(nil, name), nil
	}
	var dst []byte
	if g.durations {
		dst = append(dst, `{"type":"duration","duration":`...)
		dst = strconv.AppendInt(dst, g.millis, 10)
	} else {
		dst = append(dst, `{"type":"period","period":"`...)
		dst = append(dst, g.period.String()...)
		dst = append(dst, `","timeZone":`...)
		dst = strconv.AppendQuote(dst, g.Zone().Name())
	}
	dst = append(dst, `,"origin":`...)
	if !g.hasOrigin {
		return append(dst, `null}`...), nil
	}
	dst = append(dst, '"')
	dst = AppendMillis(dst, g.origin, g.zone)
	return append(dst, `"}`...), nil
}

// UnmarshalJSON reads a name in any case, or one of the objects that MarshalJSON writes; a duration
// may be text, an origin may be text or milliseconds. The error is an InvalidInput fault.
func (g *Granularity) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	var err error
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case len(text) > 0 && text[0] == '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return fault.Malformed("Invalid granularity: %s", err)
		}
		*g, err = ParseGranularity(name)
		return err
	}
	var wire granularityJSON
	if err := jsontext.Unmarshal(text, &wire); err != nil {
		return fault.Malformed("Invalid granularity: expected a name or an object with [type]")
	}
	*g, err = wire.granularity()
	return err
}

func (w *granularityJSON) granularity() (Granularity, error) {
	origin, err := w.origin()
	if err != nil {
		return Granularity{}, err
	}
	switch w.Type {
	case "all":
		return All, nil
	case "none":
		return None, nil
	case "period":
		return w.periods(origin)
	case "intervals":
		return ChunkGranularity(w.Intervals)
	case "duration":
		millis, ok := jsonInteger(w.Duration)
		if !ok {
			return Granularity{}, fault.InvalidInput("Invalid granularity: [duration] must be a number of milliseconds")
		}
		if origin == nil {
			origin = new(int64)
		}
		return DurationGranularity(millis, *origin)
	default:
		return Granularity{}, fault.InvalidInput("Unknown type [%s] of granularity: expected one of [all, none, period, duration]",
			shorten(w.Type))
	}
}

func (w *granularityJSON) periods(origin *int64) (Granularity, error) {
	p, err := ParsePeriod(w.Period)
	if err != nil {
		return Granularity{}, err
	}
	zone := UTC
	if w.TimeZone != "" {
		if zone, err = LoadZone(w.TimeZone); err != nil {
			return Granularity{}, err
		}
	}
	return PeriodGranularity(p, zone, origin)
}

func (w *granularityJSON) origin() (*int64, error) {
	if len(w.Origin) == 0 || string(w.Origin) == "null" {
		return nil, nil
	}
	if ms, ok := jsonInteger(w.Origin); ok {
		return &ms, nil
	}
	var text string
	if json.Unmarshal(w.Origin, &text) != nil {
		return nil, fault.InvalidInput("Invalid granularity: [origin] must be an instant")
	}
	ms, err := ParseInstant(text)
	if err != nil {
		return nil, err
	}
	return &ms, nil
}

// jsonInteger reads a JSON integer, or one in a string.
func jsonInteger(raw json.RawMessage) (int64, bool) {
	s := string(raw)
	if len(s) > 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}
