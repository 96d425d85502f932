package ingest

import (
	"slices"
	"testing"
)

func TestReads(t *testing.T) {
	for text, want := range map[string][2][]string{
		`{"type":"inline","data":"a"}`:                                {{"inline"}, nil},
		`{"type":"druid","dataSource":"wiki","interval":"2020/2021"}`: {{"druid"}, {"wiki"}},
		`{"type":"combining","delegates":[{"type":"http","uris":["http://x/a"]},{"type":"combining","delegates":[` +
			`{"type":"service","dataSource":"b","interval":"2020/2021"},{"type":"druid","dataSource":"a","interval":"2020/2021"}]}]}`: {
			{"druid", "http", "service"}, {"a", "b"}},
	} {
		types, dataSources, err := Reads([]byte(text))
		if err != nil || !slices.Equal(types, want[0]) || !slices.Equal(dataSources, want[1]) {
			t.Errorf("%s: got %v, %v, %v", text, types, dataSources, err)
		}
	}
	for _, text := range []string{`{}`, `7`, `{"type":"x"}`, `{"type":"combining","delegates":[{"type":"x"}]}`} {
		if _, _, err := Reads([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
