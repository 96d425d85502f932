package grammar

import (
	"fmt"
	"strings"
)

// FrameKind is a frame of a window: what it counts and how its bounds are written. To is empty
// for the short form with one bound.
type FrameKind struct {
	Unit, From, To string
	// Times has the bounds of a RANGE be intervals.
	Times bool
}

// String returns the frame, with N for offsets.
func (f FrameKind) String() string {
	unit := f.Unit
	if f.Times {
		unit += " of times"
	}
	if f.To == "" {
		return unit + " " + f.From
	}
	return unit + " BETWEEN " + f.From + " AND " + f.To
}

// Frames are all frames that are allowed, FrameColumns how each is used.
var (
	Frames       = frames()
	FrameColumns = frameColumns()
)

func frames() (out []FrameKind) {
	bounds := []string{"UNBOUNDED PRECEDING", "N PRECEDING", "CURRENT ROW", "N FOLLOWING", "UNBOUNDED FOLLOWING"}
	for _, f := range []FrameKind{{Unit: "ROWS"}, {Unit: "RANGE"}, {Unit: "RANGE", Times: true}, {Unit: "GROUPS"}} {
		for i, from := range bounds[:4] {
			tos := bounds[max(i, 1):]
			if i < 3 {
				tos = append([]string{""}, tos...)
			}
			for _, to := range tos {
				if f.From, f.To = from, to; !f.Times || f.offset() {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

func (f FrameKind) offset() bool {
	return strings.HasPrefix(f.From, "N ") || strings.HasPrefix(f.To, "N ")
}

// Makes reports whether the frame makes sense in a column: GROUPS and distances of values need an
// order.
func (f FrameKind) Makes(column string) bool {
	return !strings.HasPrefix(column, "no ") || f.Unit != "RANGE" || !f.offset()
}

// exclusions are the clauses behind a frame.
var exclusions = []string{"", "EXCLUDE NO OTHERS", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP", "EXCLUDE TIES"}

func frameColumns() (out []string) {
	for _, order := range []string{"ORDER BY", "no ORDER BY"} {
		for _, x := range exclusions {
			out = append(out, strings.TrimSpace(order+" "+x))
		}
	}
	return out
}

// Frame returns statements with a frame, used as a column of the table says. The second one runs
// through the rows the other way round.
func (m *Maker) Frame(f FrameKind, column string) []string {
	ordered := !strings.HasPrefix(column, "no ")
	exclude := ""
	if i := strings.Index(column, "EXCLUDE"); i >= 0 {
		exclude = " " + column[i:]
	}
	offsets := func() string {
		switch {
		case f.Times:
			return m.pick("INTERVAL '1' DAY", "INTERVAL '36' HOUR", "INTERVAL '1' MONTH", "INTERVAL '0' DAY")
		case f.Unit == "RANGE":
			return m.pick("0", "1", "2", "1.5")
		}
		return m.pick("0", "1", "2", "3")
	}
	from, to := strings.Replace(f.From, "N ", offsets()+" ", 1), strings.Replace(f.To, "N ", offsets()+" ", 1)
	there := f.Unit + " " + from
	if to != "" {
		there = f.Unit + " BETWEEN " + from + " AND " + to
	} else {
		to = "CURRENT ROW"
	}
	back := f.Unit + " BETWEEN " + mirrored(to) + " AND " + mirrored(from)
	partition := m.pick("", "PARTITION BY t.s ", "PARTITION BY t.b ")
	key := m.pick("t.n", "t.q", "t.f")
	switch {
	case f.Times:
		key = m.pick("t.__time", "TIME_FLOOR(t.__time, 'P1D')")
	case f.Unit == "ROWS":
		key = m.pick("t.id", "t.n, t.id")
	case f.Unit == "GROUPS" && m.r.IntN(2) == 0:
		key = m.pick("t.s", "t.s, t.n", "t.na")
	}
	again := strings.ReplaceAll(key, ", t.", " DESC NULLS LAST, t.")
	order, reverse := "ORDER BY "+key+" ", "ORDER BY "+again+" DESC NULLS LAST "
	if !ordered {
		order, reverse = "", ""
	}
	calls := []string{"COUNT(*)", "SUM(t.n)", "MIN(t.s)", "MAX(t.q)", "COUNT(DISTINCT t.n)", "COUNT(t.b) FILTER (WHERE t.n > 1)",
		"SUM(t.q)", "MAX(t.__time)", "AVG(t.q)"}
	if ordered && f.Unit == "ROWS" { // only then have the rows of a frame places
		calls = append(calls, "FIRST_VALUE(t.id)", "LAST_VALUE(t.s)", "FIRST_VALUE(t.n) IGNORE NULLS")
	}
	call := calls[m.r.IntN(len(calls))]
	other := strings.NewReplacer("FIRST_VALUE", "LAST_VALUE", "LAST_VALUE", "FIRST_VALUE").Replace(call)
	where := ""
	if m.r.IntN(3) == 0 {
		where = " WHERE " + m.Condition("t", 1)
	}
	source := "t"
	statement := func(call, order, frame string) string {
		return fmt.Sprintf("SELECT t.id, %s OVER (%s%s%s%s) FROM %s%s", call, partition, order, frame, exclude, source, where)
	}
	if !ordered && f.Unit == "ROWS" { // which counts rows in the order in which they come
		source = "(SELECT * FROM t ORDER BY id LIMIT 1000) AS t"
		out := []string{statement(call, "", there)}
		if !strings.Contains(exclude, "GROUP") && !strings.Contains(exclude, "TIES") { // all rows are peers without an order
			out = append(out, statement(call, "ORDER BY t.id ", there))
		}
		return out
	}
	if !ordered { // where all rows are peers
		return []string{statement(call, "", there)}
	}
	return []string{statement(call, order, there), statement(other, reverse, back)}
}

// mirrored is a bound seen from the other end.
func mirrored(bound string) string {
	return strings.NewReplacer("PRECEDING", "FOLLOWING", "FOLLOWING", "PRECEDING").Replace(bound)
}

func (m *Maker) pick(of ...string) string { return of[m.r.IntN(len(of))] }
