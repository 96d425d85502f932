package jsontext

import (
	"encoding/json"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
)

// Defaults are the members of parts that are kept as they were written, by the type of the part,
// where nothing was said. The interface shows them.
type Defaults map[string]map[string]string

// SplitHints are those of a splitHintSpec.
var SplitHints = Defaults{
	"maxSize":  {"maxSplitSize": "1073741824", "maxNumFiles": "1000"},
	"segments": {"maxInputSegmentBytesPerTask": "1073741824", "maxNumSegments": "1000"},
}

// Appendables are those of an appendableIndexSpec.
var Appendables = Defaults{"onheap": {"preserveExistingMetrics": "false"}}

// Encodings are those of the stringDictionaryEncoding of an indexSpec.
var Encodings = Defaults{"frontCoded": {"bucketSize": "4", "formatVersion": "0"}}

var sketch = map[string]string{"lgK": "12", "tgtHllType": `"HLL_4"`}

var firstOrLast = map[string]string{"timeColumn": `"__time"`}

// Metrics are those of an aggregator.
var Metrics = Defaults{
	"hyperUnique":    {"isInputHyperUnique": "false", "round": "false"},
	"cardinality":    {"byRow": "false", "round": "false"},
	"HLLSketchBuild": sketch,
	"HLLSketchMerge": sketch,
	"stringAny":      {"maxStringBytes": "1024"},
	"stringFirst":    {"timeColumn": `"__time"`, "maxStringBytes": "1024"},
	"stringLast":     {"timeColumn": `"__time"`, "maxStringBytes": "1024"},
	"longFirst":      firstOrLast,
	"longLast":       firstOrLast,
	"doubleFirst":    firstOrLast,
	"doubleLast":     firstOrLast,
	"floatFirst":     firstOrLast,
	"floatLast":      firstOrLast,
}

// Fill writes what was not said into the object text, and the type where that was left out, if one
// is usual. what names the part in refusals.
func (d Defaults) Fill(what string, text json.RawMessage, usual string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, fault.InvalidInput("[%s] must be an object, not [%s]", what, text)
	}
	kind := usual
	if t := fields["type"]; !missing(t) && json.Unmarshal(t, &kind) != nil {
		return nil, fault.InvalidInput("The [type] of [%s] must be text, not [%s]", what, t)
	}
	if kind != "" {
		fields["type"] = json.RawMessage(strconv.Quote(kind))
	}
	for name, value := range d[kind] {
		if missing(fields[name]) {
			fields[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(fields)
}

// missing reports whether a member is null or was left out.
func missing(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }
