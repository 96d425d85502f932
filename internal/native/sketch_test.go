package native

import "testing"

// A query's k of a KLL sketch means nothing to Druid, that of a load does.
func TestSizeOfKLLSketches(t *testing.T) {
	k := Whole(16)
	for _, typ := range []string{"KllDoublesSketch", "KllFloatsSketch"} {
		a := &SketchAggregator{Type: typ, K: &k}
		for ingesting, want := range map[bool]int64{false: 200, true: 16} {
			if _, params, err := a.params(sketchAggregators[typ], ingesting); err != nil || len(params) != 1 || params[0] != want {
				t.Errorf("%s, ingesting %v: %v, %v, want %d", typ, ingesting, params, err, want)
			}
		}
	}
}
