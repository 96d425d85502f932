package exec

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// planner finds out what the conditions of a scan mean in one segment: whether any row can count,
// which rows indexes leave, and what is left to be asked of rows.
type planner struct {
	leaf  *leafScan
	env   *Env
	terms []term
	rows  *roaring.Bitmap
	empty bool
}

func (p *planner) plan(ctx context.Context, conditions []condition) error {
	for _, c := range conditions {
		if top, ok := c.(*topKeys); ok && p.beyond(top) {
			p.empty = true // what the others mean here does not matter
			return nil
		}
	}
	for _, c := range conditions {
		if err := p.add(ctx, c); err != nil || p.empty {
			return err
		}
	}
	if !p.leaf.exact {
		stored, err := p.leaf.leaf.Reader.Column(segment.TimeColumn)
		if err != nil {
			return err
		}
		p.terms = append(p.terms, &timeTerm{column: len(p.leaf.scan.Out), stored: stored, times: p.leaf.times})
	}
	slices.SortStableFunc(p.terms, func(a, b term) int { return cmp.Compare(a.share(), b.share()) })
	return nil
}

// beyond reports whether all rows of the segment lie behind the last that a top-N can still use.
func (p *planner) beyond(c *topKeys) bool {
	stored, err := p.stored(c.column)
	if err != nil || stored == nil || !c.known.Load() || c.nulls && stored.Info().Nulls > 0 {
		return false
	}
	least, greatest, known := bounds(stored.Info())
	first := least
	if c.desc {
		first = greatest
	}
	return known && c.before(c.last.Load(), first)
}

// stored returns a column of the scan if the segment has it in the type that is wanted, and else
// nil.
func (p *planner) stored(column int) (segment.Column, error) {
	c, err := p.leaf.scan.stored(column, p.leaf.leaf.Reader)
	if err != nil || c == nil || c.Info().Type != p.leaf.scan.Out[column].Type.Runtime() {
		return nil, err
	}
	return c, nil
}

func (p *planner) add(ctx context.Context, c condition) error {
	switch c := c.(type) {
	case *longRange:
		return p.addRange(c)
	case *longExcept:
		return p.addExcept(c)
	case *doubleRange:
		stored, err := p.stored(c.column)
		if err != nil {
			return err
		}
		t := p.program(c.expr)
		if stored != nil {
			t.bounded, t.stored = c, stored
		}
		return nil
	case *textTerms:
		return p.addTexts(ctx, c)
	case *keySetFilter:
		return p.addKeys(c)
	case *topKeys:
		stored, err := p.stored(c.column)
		if err == nil && stored != nil {
			p.terms = append(p.terms, &topTerm{c, stored})
		}
		return err
	case *predicate:
		p.program(c.expr)
		return p.indexAny(c.expr)
	}
	return nil
}

// program adds the term that evaluates an expression.
func (p *planner) program(e expr.Expr) *programTerm {
	t := &programTerm{expr: e}
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok && !slices.Contains(t.columns, c.Index) {
			t.columns = append(t.columns, c.Index)
		}
		return true
	})
	p.terms = append(p.terms, t)
	return t
}

func (p *planner) addRange(c *longRange) error {
	if c.least > c.highest {
		p.empty = true
		return nil
	}
	stored, err := p.stored(c.column)
	if err != nil {
		return err
	}
	if stored == nil {
		p.program(plan.Conjunction(c.expr))
		return nil
	}
	t := &rangeTerm{column: c.column, stored: stored, least: c.least, span: uint64(c.highest) - uint64(c.least), rate: 0.5}
	info := stored.Info()
	if least, greatest, known := bounds(info); known {
		switch {
		case least > c.highest || greatest < c.least:
			p.empty = true
			return nil
		case least >= c.least && greatest <= c.highest && info.Nulls == 0:
			return nil
		}
		t.rate = overlap(float64(max(c.least, least)), float64(min(c.highest, greatest)), float64(least), float64(greatest))
	}
	p.terms = append(p.terms, t)
	return nil
}

func (p *planner) addExcept(c *longExcept) error {
	stored, err := p.stored(c.column)
	if err != nil {
		return err
	}
	if stored == nil {
		p.program(c.expr)
		return nil
	}
	if least, greatest, known := bounds(stored.Info()); known {
		switch {
		case least == c.value && greatest == c.value:
			p.empty = true
			return nil
		case (c.value < least || c.value > greatest) && stored.Info().Nulls == 0:
			return nil
		}
	}
	p.terms = append(p.terms, &exceptTerm{column: c.column, stored: stored, value: c.value})
	return nil
}

// bounds returns the bounds of a Long column.
func bounds(info *segment.ColumnInfo) (least, greatest int64, known bool) {
	least, ok := info.Min.(int64)
	greatest, ok2 := info.Max.(int64)
	return least, greatest, ok && ok2
}

// overlap returns which share of the values from least to greatest lies from a to b, were they
// spread evenly.
func overlap(a, b, least, greatest float64) float64 { return (b - a + 1) / (greatest - least + 1) }

func (p *planner) addKeys(c *keySetFilter) error {
	if c.keys.N == 0 {
		p.empty = true
		return nil
	}
	stored, err := p.stored(c.column)
	if err != nil {
		return err
	}
	t := &keyTerm{column: c.column, stored: stored, keys: c.keys, exact: c.exact, rate: 0.5}
	switch {
	case stored == nil && c.expr != nil:
		p.program(c.expr)
		return nil
	case stored == nil:
	case c.keys.Text:
		if n := entriesOf(stored); n > 0 {
			set, err := codesOfKeys(c.keys, stored, n)
			if err != nil {
				return err
			}
			return p.addCodes(c.column, stored, set)
		}
	default:
		info := stored.Info()
		if least, greatest, known := bounds(info); known {
			switch {
			case c.keys.HasNone(least, greatest):
				p.empty = true
				return nil
			case c.keys.HasAll(least, greatest) && info.Nulls == 0:
				return nil
			}
			inside := overlap(float64(max(c.keys.Least, least)), float64(min(c.keys.Greatest, greatest)), float64(c.keys.Least), float64(c.keys.Greatest))
			t.rate = math.Min(1, float64(c.keys.N)*inside/(float64(greatest)-float64(least)+1))
		}
	}
	p.terms = append(p.terms, t)
	return nil
}

// maxPlannedEntries is how many entries a dictionary may have to be evaluated whatever the number
// of rows to read.
const maxPlannedEntries = 1 << 12

func (p *planner) addTexts(ctx context.Context, c *textTerms) error {
	stored, err := p.stored(c.column)
	if err != nil {
		return err
	}
	n := 0
	if stored != nil {
		n = entriesOf(stored)
	}
	if n == 0 {
		p.program(plan.Conjunction(c.terms))
		return nil
	}
	var set *codeSet // nil: all
	var rest []expr.Expr
	for _, e := range c.terms {
		codes, err := codesOfComparison(e, stored, n)
		switch {
		case err != nil:
			return err
		case codes == nil:
			rest = append(rest, e)
		case set == nil:
			set = codes
		default:
			set.intersect(codes)
		}
	}
	if set == nil {
		set = allCodes(n)
		set.null = true
	}
	if set.n == 0 && !set.null {
		p.empty = true
		return nil
	}
	if len(rest) > 0 {
		if int(set.n) > max(maxPlannedEntries, p.leaf.rows) {
			p.program(plan.Conjunction(rest))
		} else {
			codes, err := p.codesOf(ctx, plan.Conjunction(rest), c.column, stored, set)
			switch {
			case err != nil:
				return err
			case codes == nil:
				p.program(plan.Conjunction(rest))
			default:
				set = codes
			}
		}
	}
	return p.addCodes(c.column, stored, set)
}

// entriesOf returns how many entries the sorted dictionary of a text column has; 0: it has none.
func entriesOf(c segment.Column) int {
	info := c.Info()
	if info.Type != vector.String || !info.DistinctExact {
		return 0
	}
	return info.Distinct
}

// addCodes adds what is left to ask when the rows of a text column must have one of the codes.
func (p *planner) addCodes(column int, stored segment.Column, set *codeSet) error {
	info := stored.Info()
	switch {
	case set.n == 0 && (!set.null || info.Nulls == 0):
		p.empty = true
		return nil
	case int(set.n) == set.size && (set.null || info.Nulls == 0):
		return nil
	}
	if !set.null && info.Indexed {
		if found, err := p.index(stored, set); err != nil || found {
			return err
		}
	}
	p.terms = append(p.terms, &codesTerm{column: column, stored: stored, codes: set})
	return nil
}

// codesOf returns the codes of within for which a predicate of a text column is true. It returns
// nil when the predicate fails for some entry, which no row need have.
func (p *planner) codesOf(ctx context.Context, e expr.Expr, column int, stored segment.Column, within *codeSet) (*codeSet, error) {
	dict, err := stored.Dict()
	if err != nil {
		return nil, err
	}
	once := *p.env.Expr
	once.Entries = true
	program, err := expr.Compile(e, &once)
	if err != nil {
		return nil, err
	}
	cols := make([]*vector.Vector, column+1)
	test := func(v *vector.Vector) ([]uint32, bool) {
		cols[column] = v
		sel, err := program.Filter(&vector.Batch{N: v.Len, Cols: cols})
		return sel, err == nil
	}
	out := noCodes(dict.Len())
	if within.null {
		sel, ok := test(vector.Nulls(vector.String, 1))
		if !ok {
			return nil, nil
		}
		out.null = len(sel) > 0
	}
	const atOnce = 4 * vector.BatchRows
	codes := make([]uint32, 0, atOnce)
	flush := func() (bool, error) {
		if err := stop(ctx); err != nil {
			return false, err
		}
		sel, ok := test(vector.FromCodes(codes, dict))
		for _, i := range sel {
			out.add(codes[i])
		}
		codes = codes[:0]
		return ok, nil
	}
	for c := range uint32(dict.Len()) {
		if !within.has(c) {
			continue
		}
		if codes = append(codes, c); len(codes) == atOnce {
			if ok, err := flush(); err != nil || !ok {
				return nil, err
			}
		}
	}
	if len(codes) > 0 {
		if ok, err := flush(); err != nil || !ok {
			return nil, err
		}
	}
	out.settle()
	return out, nil
}
