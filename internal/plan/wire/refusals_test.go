package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// refused compares the message of an error of a plan.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	f := fault.Find(err)
	if f == nil || f.Message != want || !errors.Is(err, ErrCorrupt) {
		t.Errorf("got error  [%v],\n want       [%s]", err, want)
	}
}

// The bytes of a scan without columns, of a filter over it and of a type.
var (
	scanBytes   = []byte{tagScan, 0, 0, 0, 0, 0, 0}
	filterBytes = slices.Concat([]byte{tagFilter}, scanBytes)
	typeBytes   = []byte{0, 0, 0}
)

func TestRefusedBytes(t *testing.T) {
	frame, err := vector.AppendFrame(nil, &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{1})}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{nil, "A plan can't be read: a number is cut short"},
		{slices.Concat(filterBytes, []byte{tagLiteral, tagDouble, 1}), "A plan can't be read: a number is cut short"},
		{[]byte{tagSetOp, 0x80, 8}, "A plan can't be read: number [512] is out of range"},
		{[]byte{tagScan, 5, 'w'}, "A plan can't be read: a text is cut short"},
		{[]byte{tagScan, 0, 9}, "A plan can't be read: a list is cut short"},
		{slices.Concat(filterBytes, []byte{noExpr}), "A plan can't be read: an operand is missing"},
		{slices.Concat(filterBytes, []byte{tagLoop, 0, 0, 0, 0, tagLiteral, tagNull}, typeBytes, typeBytes), "A plan can't be read: a loop is not whole"},
		{slices.Concat([]byte{tagAggregate}, scanBytes, []byte{0, 0, 0, 2, 0, 2, 4}, []byte("WORD")), "A plan can't be read: type [WORD] is unknown"},
		{slices.Concat([]byte{tagInline, 0, 4, byte(len(frame))}, frame), "A plan can't be read: its constant rows are damaged"},
		{slices.Concat(scanBytes, []byte{0}), "A plan can't be read: bytes are left over"},
		{make([]byte, maxBytes+1), "A plan can't be read: it is too large"},
		{bytes.Repeat([]byte{tagFilter}, maxDepth+1), "A plan nests deeper than [10000] levels"},
		{[]byte{99}, "A plan of a newer release can't be read: node [99] is unknown"},
		{slices.Concat(filterBytes, []byte{99}), "A plan of a newer release can't be read: expression [99] is unknown"},
		{slices.Concat(filterBytes, []byte{tagLoop, 20}), "A plan of a newer release can't be read: loop [10] is unknown"},
		{slices.Concat(filterBytes, []byte{tagLiteral, 99}), "A plan of a newer release can't be read: constant [99] is unknown"},
		{slices.Concat(filterBytes, []byte{tagLiteral, tagNull, 120, 0, 0}), "A plan of a newer release can't be read: type [60] is unknown"},
		{slices.Concat(filterBytes, []byte{tagCall, 4}, []byte("WORD")), "Function [WORD] can't be sent to another process: it is not in the catalog"},
	} {
		_, err := Decode(c.bytes)
		refused(t, err, c.want)
	}
}

// Plans that are written and can't be read.
func TestRefusedPlans(t *testing.T) {
	long := expr.Of(expr.BigInt).NotNull()
	one := []plan.Column{{Name: "n", Type: long}}
	empty, narrow := &plan.Scan{Limit: -1}, &plan.Scan{Limit: -1, Out: one}
	rows := &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{1})}}
	window := func(f plan.Frame) plan.Node {
		f.FromColumn, f.ToColumn = -1, -1
		return &plan.Window{Input: narrow, Calls: []plan.WindowCall{{Fn: "ROW_NUMBER", AggCall: plan.AggCall{Filter: -1}, Frame: f}}}
	}
	for _, c := range []struct {
		node plan.Node
		want string
	}{
		{&plan.Sort{Input: narrow, Keys: []plan.SortKey{{Column: 3}}}, "A plan can't be read: it names column [3] of [1]"},
		{&plan.Filter{Input: narrow, Cond: &expr.Column{Index: -1, T: long}}, "A plan can't be read: it names column [-1] of [1]"},
		{&plan.Project{Input: narrow, Names: []string{"a"}}, "A plan can't be read: a projection has [1] names for [0] columns"},
		{&plan.Join{Left: narrow, Right: narrow, Kind: plan.Single + 1}, "A plan of a newer release can't be read: join [8] is unknown"},
		{&plan.Union{Ins: []plan.Node{narrow, empty}, Out: one}, "A plan can't be read: a union has branches of different width"},
		{&plan.SetOp{Left: narrow, Right: empty}, "A plan can't be read: a set operation does not fit its inputs"},
		{&plan.SetOp{Left: narrow, Right: narrow, Kind: plan.Except + 1}, "A plan can't be read: a set operation does not fit its inputs"},
		{window(plan.Frame{Exclude: plan.ExcludeTies + 1}), "A plan of a newer release can't be read: frame exclusion [4] is unknown"},
		{window(plan.Frame{Values: true}), "A frame of values must be a range"},
		{&plan.Inline{Rows: rows}, "A plan can't be read: constant rows have [1] columns instead of [0]"},
		{&plan.Inline{Out: []plan.Column{{Name: "s", Type: expr.Of(expr.Varchar)}}, Rows: rows}, "A plan can't be read: column [0] of constant rows is of type [LONG]"},
	} {
		b, err := Encode(c.node)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		_, err = Decode(b)
		refused(t, err, c.want)
	}
}

// Plans that are not written.
func TestRefusedToSend(t *testing.T) {
	filter := func(x expr.Expr) plan.Node { return &plan.Filter{Input: &plan.Scan{Limit: -1}, Cond: x} }
	for _, c := range []struct {
		node plan.Node
		want string
	}{
		{&plan.Write{Input: &plan.Scan{}}, "Plan node [*plan.Write] can't be sent to another process"},
		{filter(&expr.Literal{Value: true, T: expr.Of(expr.Boolean)}), "Constant [bool] can't be sent to another process"},
		{filter(&expr.Call{Fn: &expr.Function{Name: "WORD"}}), "Function [WORD] can't be sent to another process: it is not in the catalog"},
	} {
		_, err := Encode(c.node)
		refused(t, err, c.want)
	}
}
