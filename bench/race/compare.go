package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a cell made comparable between engines: text, an integer, a double or nothing.
type value struct {
	kind   byte // 't', 'i', 'f', or 0 for NULL
	text   string
	whole  int64
	double float64
}

// valueOf reads a cell. Integers are taken modulo 2^64, because some engines' sums wrap there and
// others' are wider; times as text are milliseconds.
func valueOf(cell any) value {
	switch c := cell.(type) {
	case nil:
		return value{}
	case json.Number:
		if n, ok := new(big.Int).SetString(c.String(), 10); ok {
			f, _ := new(big.Float).SetInt(n).Float64()
			low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
			return value{kind: 'i', whole: int64(low.Uint64()), double: f}
		}
		f, err := c.Float64()
		if err == nil {
			return value{kind: 'f', double: f}
		}
	case string:
		if len(c) >= 20 && c[4] == '-' {
			if t, err := time.Parse(time.RFC3339Nano, c); err == nil {
				return value{kind: 'i', whole: t.UnixMilli(), double: float64(t.UnixMilli())}
			}
		}
		return value{kind: 't', text: c}
	}
	return value{kind: 't', text: fmt.Sprint(cell)}
}

func (v value) String() string {
	switch v.kind {
	case 't':
		return v.text
	case 'i':
		return strconv.FormatInt(v.whole, 10)
	case 'f':
		return strconv.FormatFloat(v.double, 'e', 5, 64)
	}
	return "NULL"
}

const usualTolerance = 1e-9 // of sums of doubles: the order of adding differs

func (v value) near(o value, share float64) bool {
	switch {
	case v.kind == 'i' && o.kind == 'i' && share == 0:
		return v.whole == o.whole
	case (v.kind == 'i' || v.kind == 'f') && (o.kind == 'i' || o.kind == 'f'):
		return math.Abs(v.double-o.double) <= max(share, usualTolerance)*max(math.Abs(v.double), math.Abs(o.double))
	}
	return v == o
}

// compare says how two answers differ, "" if they agree. The order of rows is not compared: engines
// place NULLs differently.
func compare(a, b [][]any, share float64) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d rows against %d", len(a), len(b))
	}
	x, y := comparable(a), comparable(b)
	for i := range x {
		if len(x[i]) != len(y[i]) {
			return fmt.Sprintf("%d columns against %d", len(x[i]), len(y[i]))
		}
		for j := range x[i] {
			if !x[i][j].near(y[i][j], share) {
				return fmt.Sprintf("%v against %v", x[i], y[i])
			}
		}
	}
	return ""
}

func comparable(rows [][]any) [][]value {
	type keyed struct {
		key  string
		cell []value
	}
	list := make([]keyed, len(rows))
	for i, row := range rows {
		var key strings.Builder
		cells := make([]value, len(row))
		for j, c := range row {
			cells[j] = valueOf(c)
			key.WriteString(cells[j].String() + "\x00")
		}
		list[i] = keyed{key.String(), cells}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	out := make([][]value, len(list))
	for i, k := range list {
		out[i] = k.cell
	}
	return out
}
