package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// The names of the classes that reject a part of a supervisor's specification in Druid. Errors
// contain them, because scripts look for them.
const (
	dataSchemaClass = "org.apache.druid.segment.indexing.DataSchema"
	dimensionsClass = "org.apache.druid.data.input.impl.DimensionsSpec"
	lagBasedClass   = "org.apache.druid.indexing.seekablestream.supervisor.autoscaler.LagBasedAutoScalerConfig"
	costBasedClass  = "org.apache.druid.indexing.seekablestream.supervisor.autoscaler.CostBasedAutoScalerConfig"
)

// refused is a fault of a part, which class names.
func refused(class, format string, args ...any) error {
	return fault.InvalidInput("Cannot construct instance of `%s`, problem: %s", class, fmt.Sprintf(format, args...))
}

// refusedAs gives a fault of a part the name of the part; one that has it already stays.
func refusedAs(class string, err error) error {
	f := fault.Find(err)
	if f == nil || strings.HasPrefix(f.Message, "Cannot construct ") ||
		strings.HasPrefix(f.Message, "Cannot deserialize ") || strings.HasPrefix(f.Message, "Please make sure ") {
		return err
	}
	return refused(class, "%s", f.Message)
}

// readPart reads an object of a specification into a struct; class names it in refusals.
func readPart(class string, text json.RawMessage, into any) error {
	trimmed := strings.TrimSpace(string(text))
	if absent(json.RawMessage(trimmed)) {
		return nil
	}
	for opening, token := range map[byte]string{'[': "Array value (token `JsonToken.START_ARRAY`)", '"': "String value",
		't': "Boolean value", 'f': "Boolean value"} {
		if trimmed[0] == opening {
			return fault.InvalidInput("Cannot deserialize value of type `%s` from %s", class, token)
		}
	}
	if err := jsontext.Read(text, into); err != nil {
		if fault.Find(err) != nil {
			return err
		}
		return fault.InvalidInput("Cannot deserialize value of type `%s`: %s", class, fault.JSONProblem(err))
	}
	return nil
}

// duration is a length of time that is given as a period and shown in seconds.
type duration int64

// periods reads lengths of time of one part; where names the path to it.
type periods struct {
	class, where string
	err          error
}

// period reads a period; an absent one is usual.
func (p *periods) period(name, text string, usual string) chrono.Period {
	if text == "" {
		text = usual
	}
	got, err := chrono.ParsePeriod(text)
	if err != nil && p.err == nil {
		p.err = fault.InvalidInput("Invalid format: %q (through reference chain: %s[\"%s\"])", text, p.where, name)
	}
	return got
}

// length is period for one that must have a fixed length.
func (p *periods) length(name string, text *string, usual string) duration {
	given := ""
	if text != nil {
		given = *text
	}
	if given == "" && usual == "" {
		return 0
	}
	got := p.period(name, given, usual)
	millis, ok := got.StandardMillis()
	if !ok && p.err == nil {
		unit := "months"
		if got.Years != 0 {
			unit = "years"
		}
		p.err = refused(p.class, "Cannot convert to Duration as this period contains %s and %s vary in length", unit, unit)
	}
	return duration(millis)
}

// String returns the length in seconds, as PT3600S.
func (d duration) String() string {
	millis, sign := int64(d), ""
	if millis < 0 {
		millis, sign = -millis, "-"
	}
	if millis%1000 == 0 {
		return fmt.Sprintf("PT%s%dS", sign, millis/1000)
	}
	return fmt.Sprintf("PT%s%d.%03dS", sign, millis/1000, millis%1000)
}

// MarshalText returns String.
func (d duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// optional is length for one that may be left out; nil: it was.
func (p *periods) optional(name string, text *string) *duration {
	if text == nil {
		return nil
	}
	d := p.length(name, text, "")
	return &d
}

// within bounds a number to what an int holds.
func within(n int64) int { return int(max(math.MinInt32, min(math.MaxInt32, n))) }
