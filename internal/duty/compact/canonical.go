package compact

import (
	"bytes"
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
)

// canonical writes JSON so that equal values are equal texts: members sorted, and left out where they are null, since some writers show
// members that were not given.
func canonical(text json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", fault.InvalidInput("A part of the compaction settings is not readable JSON: %v", err)
	}
	out, err := json.Marshal(withoutNulls(value))
	return string(out), err
}

func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				v[name] = withoutNulls(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return value
}

// canonicalList is canonical of each.
func canonicalList(list []json.RawMessage) ([]string, error) {
	out := make([]string, len(list))
	for i, text := range list {
		var err error
		if out[i], err = canonical(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// indexDefaults are the members of an index spec where nothing was said.
var indexDefaults = map[string]string{
	"bitmap": `{"type":"roaring"}`, "dimensionCompression": `"lz4"`, "stringDictionaryEncoding": `{"type":"utf8"}`, "metricCompression": `"lz4"`,
	"longEncoding": `"longs"`, "jsonCompression": `"lz4"`,
}

// canonicalIndex is canonical of an index spec with its defaults filled in.
func canonicalIndex(text json.RawMessage) (string, error) {
	fields := map[string]json.RawMessage{}
	if !isNull(text) {
		if err := json.Unmarshal(text, &fields); err != nil {
			return "", fault.InvalidInput("The indexSpec must be an object").WithCause(err)
		}
	}
	for name, value := range indexDefaults {
		if isNull(fields[name]) {
			fields[name] = json.RawMessage(value)
		}
	}
	if string(fields["bitmap"]) == `{"type":"roaring","compressRunOnSerialization":true}` {
		fields["bitmap"] = json.RawMessage(indexDefaults["bitmap"])
	}
	filled, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	return canonical(filled)
}
