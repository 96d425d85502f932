package rowplan

import (
	"encoding/json"
	"testing"

	"github.com/hengedb/henge/internal/ingest/spec"
)

func TestLearns(t *testing.T) {
	for text, want := range map[string]bool{
		`"dimensionsSpec":{"dimensions":["a",{"type":"long","name":"b"}]}` +
			`,"metricsSpec":[{"type":"count","name":"c"},{"type":"longSum","name":"s","fieldName":"n"}]}`: false,
		`"dimensionsSpec":{"dimensions":["a",{"type":"auto","name":"b","castToType":"LONG"}]}}`: false,
		`"dimensionsSpec":{}}`: true,
		`"dimensionsSpec":{"dimensions":["a"],"includeAllDimensions":true}}`:                                   true,
		`"dimensionsSpec":{"dimensions":[{"type":"auto","name":"b"}]}}`:                                        true,
		`"dimensionsSpec":{"dimensions":["n"]},"metricsSpec":[{"type":"longSum","name":"s","fieldName":"n"}]}`: true,
		`"dimensionsSpec":{"dimensions":["a"]}` +
			`,"metricsSpec":[{"type":"longSum","name":"s","fieldName":"n"},{"type":"doubleSum","name":"d","fieldName":"n"}]}`: true,
		`"dimensionsSpec":{"dimensions":["a"]}` +
			`,"metricsSpec":[{"type":"thetaSketch","name":"s","fieldName":"n"}]}`: true,
		`"dimensionsSpec":{"dimensions":["a"]}` +
			`,"transformSpec":{"transforms":[{"type":"expression","name":"x","expression":"1"}]}}`: true,
	} {
		s, err := spec.Parse(json.RawMessage(`{"timestampSpec":{},` + text))
		if err != nil {
			t.Fatal(err)
		}
		if got := Learns(s); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestMentioned(t *testing.T) {
	s, err := spec.Parse(json.RawMessage(`{"timestampSpec":{},"transformSpec":{
		"transforms":[{"type":"expression","name":"x","expression":"upper(\"a b\") + c_d"}],
		"filter":{"type":"selector","dimension":"k","value":"in"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	says := mentioned(s)
	for name, want := range map[string]bool{
		"a b": true, "c_d": true, "k": true,
		"c": false, "d": false, "dimensio": false, "zürich": true, "": true,
	} {
		if got := says(name); got != want {
			t.Errorf("[%s]: %v, want %v", name, got, want)
		}
	}
}

func TestTransformsThatMakeNoSense(t *testing.T) {
	one := json.RawMessage(`{"type":"expression","name":"v","expression":"1"}`)
	for want, list := range map[string][]json.RawMessage{
		"Transform name [v] cannot be used twice": {one, one},
		"A transform can't be null":               {one, json.RawMessage("null")},
	} {
		if _, err := TransformsOf(list); err == nil || err.Error() != want {
			t.Errorf("%v, want [%s]", err, want)
		}
	}
	if _, err := TransformsOf([]json.RawMessage{one}); err != nil {
		t.Error(err)
	}
}
