package oracle

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/plan"
)

// window computes each call for each row by asking of every row of the partition whether it is in
// the frame.
func window(x *plan.Window, in [][]any) [][]any {
	var order []string
	partitions := map[string][][]any{}
	for _, row := range in {
		key := make([]any, len(x.Partition))
		for i, c := range x.Partition {
			key[i] = row[c]
		}
		text := groupKey(key)
		if _, ok := partitions[text]; !ok {
			order = append(order, text)
		}
		partitions[text] = append(partitions[text], row)
	}
	var out [][]any
	for _, text := range order {
		p := &partition{rows: partitions[text], order: x.Order, input: x.Input}
		slices.SortStableFunc(p.rows, func(a, b []any) int { return orderRows(a, b, x.Order) })
		for i := range p.rows {
			if i > 0 && orderRows(p.rows[i-1], p.rows[i], x.Order) != 0 {
				p.peers++
			}
			p.group = append(p.group, p.peers)
		}
		for i, row := range p.rows {
			full := slices.Clone(row)
			for j := range x.Calls {
				full = append(full, p.value(&x.Calls[j], i))
			}
			out = append(out, full)
		}
	}
	return out
}

// partition are the sorted rows of a partition, with the number of the peers each belongs to.
type partition struct {
	rows  [][]any
	order []plan.SortKey
	input plan.Node
	group []int
	peers int
}

func (p *partition) value(c *plan.WindowCall, i int) any {
	n := len(p.rows)
	first := slices.Index(p.group, p.group[i])
	last := n - 1
	for p.group[last] != p.group[i] {
		last--
	}
	switch c.Fn {
	case "":
		return result(&c.AggCall, p.frame(c, i), ofValues(&c.AggCall, p.input))
	case "ROW_NUMBER":
		return int64(i + 1)
	case "RANK":
		return int64(first + 1)
	case "DENSE_RANK":
		return int64(p.group[i] + 1)
	case "PERCENT_RANK":
		if n == 1 {
			return 0.0
		}
		return float64(first) / float64(n-1)
	case "CUME_DIST":
		return float64(last+1) / float64(n)
	case "NTILE":
		tiles := int(c.Agg.Params[0].(int64))
		for tile, at := 1, 0; ; tile++ {
			at += n / tiles
			if tile <= n%tiles {
				at++
			}
			if i < at {
				return int64(tile)
			}
		}
	case "LAG", "LEAD":
		offset := int64(1)
		switch {
		case len(c.Args) > 1:
			offset = p.rows[i][c.Args[1]].(int64)
		case len(c.Agg.Params) > 0:
			offset = c.Agg.Params[0].(int64)
		}
		at := int64(i) - offset
		if c.Fn == "LEAD" {
			at = int64(i) + offset
		}
		if c.IgnoreNulls && offset != 0 {
			at = p.known(c.Args[0], i, at)
		}
		switch {
		case at >= 0 && at < int64(n):
			return p.rows[at][c.Args[0]]
		case len(c.Args) > 2:
			return p.rows[i][c.Args[2]]
		}
		return nil
	case "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE":
		rows := p.frame(c, i)
		if c.IgnoreNulls {
			rows = slices.DeleteFunc(rows, func(row []any) bool { return row[c.Args[0]] == nil })
		}
		at := 0
		switch c.Fn {
		case "LAST_VALUE":
			at = len(rows) - 1
		case "NTH_VALUE":
			at = int(c.Agg.Params[0].(int64)) - 1
		}
		if at < 0 || at >= len(rows) {
			return nil
		}
		return rows[at][c.Args[0]]
	}
	panic(unknown("window function " + c.Fn))
}

// known returns where LAG or LEAD, that would be at a row, ends when only rows with a value count:
// -1 outside the partition.
func (p *partition) known(column, i int, at int64) int64 {
	step, n := 1, at-int64(i)
	if n < 0 {
		step, n = -1, -n
	}
	for j := i + step; j >= 0 && j < len(p.rows); j += step {
		if p.rows[j][column] != nil {
			if n--; n == 0 {
				return int64(j)
			}
		}
	}
	return -1
}

// frame returns the rows of row i's frame, in order.
func (p *partition) frame(c *plan.WindowCall, i int) [][]any {
	var out [][]any
	f := &c.Frame
	from, ok := p.offset(f, i, f.FromColumn, f.FromOffset)
	if !ok {
		return nil
	}
	to, ok := p.offset(f, i, f.ToColumn, f.ToOffset)
	if !ok {
		return nil
	}
	for j := range p.rows {
		if !f.FromUnbounded && p.distance(f, i, j, from) < 0 || !f.ToUnbounded && p.distance(f, i, j, to) > 0 {
			continue
		}
		peer := p.group[i] == p.group[j]
		switch {
		case f.Exclude == plan.ExcludeCurrentRow && i == j,
			f.Exclude == plan.ExcludeGroup && peer,
			f.Exclude == plan.ExcludeTies && peer && i != j:
			continue
		}
		out = append(out, p.rows[j])
	}
	return out
}

// offset is how far a bound lies from row i; ok is false if the row has no frame.
func (p *partition) offset(f *plan.Frame, i, column int, constant int64) (offset float64, ok bool) {
	if column < 0 {
		return float64(constant), true
	}
	at := p.rows[i][column]
	if !f.Values {
		n, ok := at.(int64)
		return float64(n), ok
	}
	key := p.rows[i][p.order[0].Column]
	switch {
	case key == nil:
		return 0, true
	case at == nil:
		return 0, false
	case p.order[0].Desc:
		return number(key) - number(at), true
	}
	return number(at) - number(key), true
}

// distance is how far row j is behind the bound that lies offset from row i: negative before it, 0
// on it.
func (p *partition) distance(f *plan.Frame, i, j int, offset float64) float64 {
	switch {
	case f.Groups || f.Range && offset == 0:
		return float64(p.group[j]) - float64(p.group[i]) - offset
	case !f.Range:
		return float64(j) - float64(i) - offset
	}
	key := p.order[0]
	a, b := p.rows[i][key.Column], p.rows[j][key.Column]
	switch {
	case a == nil:
		return float64(p.group[j] - p.group[i])
	case b == nil:
		return math.Inf(j - i)
	}
	// Longs of the generator are small or at the ends of their range, where the engine stops at the
	// end.
	d := number(b) - number(a)
	if key.Desc {
		d = -d
	}
	return d - offset
}
