package compact

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// canonical writes JSON so that equal values are equal texts: members sorted, and left out where
// they are null, since some writers show members that were not given.
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

// canonicalMetrics is canonical of each with its defaults filled in.
func canonicalMetrics(list []json.RawMessage) ([]string, error) {
	filled := make([]json.RawMessage, len(list))
	for i, text := range list {
		var err error
		if filled[i], err = fillMetric(text); err != nil {
			return nil, err
		}
	}
	return canonicalList(filled)
}

// fillMetric fills in the defaults of a metric; one that is filtered has the name of what it
// filters.
func fillMetric(text json.RawMessage) (json.RawMessage, error) {
	var fields struct {
		Type       string          `json:"type"`
		Name       json.RawMessage `json:"name"`
		Aggregator json.RawMessage `json:"aggregator"`
	}
	if json.Unmarshal(text, &fields) == nil && fields.Type == "filtered" && isNull(fields.Name) {
		var inner struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(fields.Aggregator, &inner) == nil && inner.Name != "" {
			return jsontext.Defaults{"filtered": {"name": strconv.Quote(inner.Name)}}.Fill("metricsSpec", text, "")
		}
	}
	return jsontext.Metrics.Fill("metricsSpec", text, "")
}

// fillIndex fills in the defaults of an index spec. How nested data is packed is shown only where
// it was said.
func fillIndex(text json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, fault.InvalidInput("The indexSpec must be an object, not [%s]", text)
	}
	for name, value := range indexDefaults {
		if isNull(fields[name]) && name != "jsonCompression" {
			fields[name] = json.RawMessage(value)
		}
	}
	if err := fillEncoding(fields); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// fillEncoding writes what was not said into the encoding of texts of an index spec.
func fillEncoding(fields map[string]json.RawMessage) (err error) {
	const name = "stringDictionaryEncoding"
	fields[name], err = jsontext.Encodings.Fill(name, fields[name], "")
	return err
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
	if err := fillEncoding(fields); err != nil {
		return "", err
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
