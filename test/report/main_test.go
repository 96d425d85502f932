package main

import (
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:3: what nobody wants to see\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"    kit.go:9: no Kafka: Java is not installed\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"C","Output":"    c_test.go:9: -short: hundreds of MB\n"}
{"Action":"skip","Package":"p","Test":"C"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"skip","Package":"empty"}
`

const failing = `not JSON
{"ImportPath":"r","Action":"build-output","Output":"r.go:1: undefined: x\n"}
{"ImportPath":"r","Action":"build-fail"}
{"Action":"output","Package":"q","Test":"D","Output":"    d_test.go:3: it is [1]\n"}
{"Action":"fail","Package":"q","Test":"D"}
{"Action":"output","Package":"q","Output":"FAIL\tq\t0.1s\n"}
{"Action":"fail","Package":"q"}
{"Action":"output","Package":"r","Output":"FAIL\tr [build failed]\n"}
{"Action":"fail","Package":"r"}
`

func TestRunsAreReported(t *testing.T) {
	const skips = "skipped:\n  -short: hundreds of MB: 1, such as C in p\n" +
		"  no Kafka: Java is not installed (test/setup installs what is wanted): 1, such as B in p\n"
	for name, run := range map[string]struct {
		events, want string
		strict, good bool
	}{
		"good": {events, "ok  \tp\t0.1s\n" + skips + "1 passed, 0 failed, 2 skipped\n", false, true},
		"strict": {events, "ok  \tp\t0.1s\n" + skips + "1 tests were skipped for want of something, which is an error here\n" +
			"1 passed, 0 failed, 2 skipped\n", true, false},
		"failing": {failing, "not JSON\nr.go:1: undefined: x\n    d_test.go:3: it is [1]\nFAIL\tq\t0.1s\nFAIL\tr [build failed]\n" +
			"FAILED D in q\nFAILED q\nFAILED r\n0 passed, 3 failed, 0 skipped\n", true, false},
	} {
		s := &summary{output: map[key][]string{}, skipped: map[key]string{}}
		var out strings.Builder
		if err := s.read(strings.NewReader(run.events), &out); err != nil {
			t.Fatal(err)
		}
		if good := s.conclude(&out, run.strict); good != run.good || out.String() != run.want {
			t.Errorf("%s: %t\n%s", name, good, out.String())
		}
	}
}
