package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		d           Defaults
		text, usual string
		want        string
	}{
		{Metrics, `{"type":"hyperUnique","name":"u","round":true}`, "", `{"isInputHyperUnique":false,"name":"u","round":true,"type":"hyperUnique"}`},
		{Metrics, `{"type":"stringLast","maxStringBytes":null}`, "", `{"maxStringBytes":1024,"timeColumn":"__time","type":"stringLast"}`},
		{Metrics, `{"type":"count"}`, "", `{"type":"count"}`},
		{Appendables, `{}`, "onheap", `{"preserveExistingMetrics":false,"type":"onheap"}`},
		{Appendables, `{"type":"other"}`, "onheap", `{"type":"other"}`},
		{Metrics, `{}`, "", `{}`},
		{Metrics, `[]`, "", "[part] must be an object"},
		{Metrics, `null`, "", "[part] must be an object"},
		{Metrics, `{"type":7}`, "", "The [type] of [part] must be text"},
	} {
		got, err := c.d.Fill("part", json.RawMessage(c.text), c.usual)
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if string(got) != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
