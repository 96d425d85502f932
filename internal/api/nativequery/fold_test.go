package nativequery

import (
	"net/http"
	"strings"
	"testing"
)

// What Druid answers to aggregators of type expression, over rows of which two have a NULL, and
// over none.
func TestFolds(t *testing.T) {
	const rows = `"dataSource":{"type":"inline","columnNames":["v","n","d"],"columnTypes":["STRING","LONG","DOUBLE"],"rows":[["1.10",1,1.5],["1.9",2,null],["2-alpha",3,0.5],
		["2",null,2.0],["2-sp",5,1.0],["1.0",6,1.0],[null,7,1.0],["x",8,1.0],["1-rc1",9,1.0],["10",10,1.0]]},"intervals":["1970/1971"],"granularity":"all"`
	for _, c := range []struct{ name, fold, want, none string }{
		{"a sum with NULL", `"fields":["n"],"initialValue":"0","fold":"__acc + \"n\"","combine":"__acc + \"x\""`, `null`, `null`},
		{"a sum", `"fields":["n"],"initialValue":"0","fold":"nvl(\"n\",0) + __acc"`, `51`, `null`},
		{"a sum of fractions", `"fields":["d"],"initialValue":"0","fold":"__acc + nvl(\"d\",0)"`, `10.0`, `null`},
		{"a sum that begins with a fraction", `"fields":["n"],"initialValue":"0.0","fold":"__acc + nvl(\"n\",0)"`, `51.0`, `null`},
		{"max with NULL", `"fields":["n"],"initialValue":"0","fold":"max(__acc, \"n\")"`, `null`, `null`},
		{"the greatest", `"fields":["n"],"initialValue":"0","fold":"greatest(__acc, \"n\")"`, `10`, `null`},
		{"the least, or the first", `"fields":["n"],"initialValue":"0","fold":"min(__acc, nvl(\"n\",7))"`, `0`, `null`},
		{"bits with NULL", `"fields":["n"],"initialValue":"0","fold":"bitwiseOr(__acc, \"n\")"`, `null`, `null`},
		{"bits", `"fields":["n"],"initialValue":"0","fold":"bitwiseOr(__acc, nvl(\"n\",0))"`, `15`, `null`},
		{"a sum that is finished", `"fields":["n"],"initialValue":"0","fold":"__acc + nvl(\"n\",0)","finalize":"o / 2.0"`, `25.5`, `null`},
		{"a sum of nothing", `"fields":["n"],"initialValue":"0","fold":"__acc + \"n\"","isNullUnlessAggregated":false`, `null`, `0`},
		{"rows with NULL do not count", `"fields":["n"],"initialValue":"0","fold":"__acc + \"n\"","shouldAggregateNullInputs":false`, `51`, `null`},
		{"a count", `"fields":["d"],"initialValue":"0","fold":"__acc + if(\"d\" > 1, 1, 0)","combine":"__acc + \"x\""`, `2`, `null`},
		{"a product with NULL", `"fields":["n"],"initialValue":"1","fold":"__acc * \"n\""`, `null`, `null`},
		{"a product", `"fields":["n"],"initialValue":"1","fold":"__acc * nvl(\"n\",1)","combine":"__acc * \"x\""`, `907200`, `null`},
		{"a product of rows without NULL", `"fields":["n","d"],"initialValue":"1.0","fold":"__acc * (n + d)","combine":"__acc * \"x\"","shouldAggregateNullInputs":false`, `2910600.0`, `null`},
		{"a product of nothing", `"fields":["n"],"initialValue":"7","fold":"__acc * nvl(\"n\",1)","isNullUnlessAggregated":false`, `6350400`, `7`},
		{"digits", `"fields":["n"],"initialValue":"0","fold":"if(isnull(\"n\"), __acc, __acc * 10 + \"n\")","combine":"__acc","finalize":"o % 1000"`, `900`, `null`},
		{"texts of two fields", `"fields":["v","n"],"initialValue":"''","fold":"concat(__acc, nvl(v, '-'), nvl(n, 0), ';')","combine":"concat(__acc, \"x\")"`,
			`"1.101;1.92;2-alpha3;20;2-sp5;1.06;-7;x8;1-rc19;1010;"`, `null`},
		{"a list of some", `"fields":["n","v"],"initialValue":"ARRAY<STRING>[]","fold":"if(n % 2 == 0, array_append(__acc, v), __acc)","combine":"array_concat(__acc, \"x\")"`,
			`["1.9","1.0","x","10"]`, `null`},
		{"a sum that begins with 10", `"fields":["n"],"initialValue":"10","fold":"__acc + nvl(\"n\",0)","combine":"__acc + \"x\""`, `61`, `null`},
		{"of no fields", `"fields":[],"initialValue":"0","fold":"__acc + 2","combine":"__acc + \"x\""`, `20`, `null`},
		{"the accumulator alone", `"fields":["n"],"initialValue":"3","fold":"__acc + __acc"`, `3072`, `null`},
		{"not of its fields", `"fields":["n"],"initialValue":"0","fold":"__acc + \"d\""`, `null`, `null`},
		{"a count without a way to combine", `"fields":["d"],"initialValue":"0","fold":"__acc + if(\"d\" > 1, 1, 0)"`, `2`, `null`},
		{"another name", `"fields":["n"],"accumulatorIdentifier":"a","initialValue":"0","fold":"a + nvl(\"n\",0)"`, `51`, `null`},
	} {
		for filter, want := range map[string]string{`true`: c.want, `false`: c.none} {
			status, got := ask(t, http.MethodPost, "/service/v2", `{"queryType":"timeseries",`+rows+`,"filter":{"type":"`+filter+`"},"aggregations":[{"type":"expression","name":"x",`+c.fold+`}]}`)
			if status != http.StatusOK || !strings.Contains(got, `"result":{"x":`+want+`}`) {
				t.Errorf("%s, of rows %s: status %d, %s, want %s", c.name, filter, status, got, want)
			}
		}
	}
	for _, fold := range []string{
		`"fields":["n"],"initialValue":"0","fold":"__acc + \"n\"","combine":"max(__acc, \"x\")"`,
		`"fields":["n"],"initialValue":"n","fold":"__acc * \"n\""`,                         // no constant
		`"fields":["tags"],"initialValue":"0","fold":"__acc + array_length(\"tags\") * 2"`, // of a multi-value string
	} {
		if status, got := ask(t, http.MethodPost, "/service/v2", `{"queryType":"timeseries",`+rows+`,"virtualColumns":[{"type":"expression","name":"tags","expression":"array_to_mv(array(v, v))","outputType":"STRING"}],
			"aggregations":[{"type":"expression","name":"x",`+fold+`}]}`); status != http.StatusNotImplemented {
			t.Errorf("%s: status %d, %s", fold, status, got)
		}
	}
}

// A sum of a multi-value string is that of the rows with one value.
func TestNumbersOfMultiValueStrings(t *testing.T) {
	const rows = `"dataSource":{"type":"inline","columnNames":["m"],"columnTypes":["ARRAY<STRING>"],"rows":[[["10"]],[["a","b"]],[["9"]],[["9","9"]],[null]]},
		"virtualColumns":[{"type":"expression","name":"tags","expression":"array_to_mv(\"m\")","outputType":"STRING"}],"intervals":["1970/1971"],"granularity":"all"`
	for kind, want := range map[string]string{
		"longSum": "19", "doubleSum": "19.0", "longMin": "9", "longMax": "10", "doubleMax": "10.0", "floatMin": "9.0",
	} {
		status, got := ask(t, http.MethodPost, "/service/v2", `{"queryType":"timeseries",`+rows+`,"aggregations":[{"type":"`+kind+`","name":"x","fieldName":"tags"}]}`)
		if status != http.StatusOK || !strings.Contains(got, `"result":{"x":`+want+`}`) {
			t.Errorf("%s: status %d, %s, want %s", kind, status, got, want)
		}
	}
}

func TestFudgedTimestamps(t *testing.T) {
	const body = `{"queryType":"groupBy","granularity":"all","dimensions":[],"aggregations":[{"type":"count","name":"c"}],` + fruit + `,"context":{"fudgeTimestamp":"F"}}`
	for given, want := range map[string]string{"123456": "1970-01-01T00:02:03.456Z", "": "1970-01-01T00:00:00.000Z"} {
		status, got := ask(t, http.MethodPost, "/service/v2", strings.Replace(body, `"F"`, `"`+given+`"`, 1))
		if status != http.StatusOK || !strings.Contains(got, `"timestamp":"`+want+`"`) {
			t.Errorf("%q: status %d, %s", given, status, got)
		}
	}
	if status, got := ask(t, http.MethodPost, "/service/v2", body); status != http.StatusBadRequest {
		t.Errorf("status %d, %s", status, got)
	}
}
