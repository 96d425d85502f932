package native

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestMetricFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"longSum","name":"a","fieldName":"b"}`:                                                "[]",
		`{"type":"longSum","name":"a","expression":"b * (c + 1) + \"d e\""}`:                           "[b c d e]",
		`{"type":"longSum","name":"a","expression":"fold((x, acc) -> x + acc + y, b, 0)"}`:             "[y b]",
		`{"type":"filtered","aggregator":{"type":"doubleSum","expression":"nvl(b, 'c')"},"filter":{}}`: "[b]",
		`{"type":"longSum","name":"a","expression":"b +"}`:                                             "[]",
		`{"type":"longSum","name":"a","expression":5}`:                                                 "[]",
	} {
		if got := fmt.Sprint(MetricFields(json.RawMessage(text))); got != want {
			t.Errorf("%s reads %s, not %s", text, got, want)
		}
	}
}
