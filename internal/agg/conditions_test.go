package agg

import (
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

func TestConditions(t *testing.T) {
	mixed, yes, none := vec(vector.Long, int64(1), nil, int64(0), int64(1)), vec(vector.Long, int64(1), nil), vec(vector.Long, nil, nil)
	for _, c := range []struct {
		name string
		arg  *vector.Vector
		want any
	}{
		{"COUNT_IF", mixed, int64(2)}, {"COUNT_IF", none, int64(0)},
		{"EVERY", mixed, int64(0)}, {"EVERY", yes, int64(1)}, {"BOOL_AND", none, nil},
		{"SOME", mixed, int64(1)}, {"BOOL_OR", none, nil},
	} {
		if got := final(t, Spec{Name: c.name, Args: []vector.Type{vector.Long}}, c.arg); got != c.want {
			t.Errorf("%s = %v, want %v", c.name, got, c.want)
		}
	}
}
