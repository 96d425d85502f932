package exec

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
)

// DomainOf returns the values of string columns that pass the filter of a scan, as far as
// comparisons with constants determine them. It contains all rows that the filter keeps. Segments
// whose shard specs do not overlap the domain need not be read.
func DomainOf(scan *plan.Scan) timeline.Domain {
	d := timeline.Domain{}
	points := map[string]bool{}
	for _, e := range plan.Split(scan.Filter) {
		if c, texts := textEquality(e); c != nil && !c.T.Multi {
			name := scan.Out[c.Index].Name
			if points[name] && len(d[name].Ranges) <= len(texts) {
				continue
			}
			values := timeline.Values{}
			for _, s := range texts {
				values.Ranges = append(values.Ranges, timeline.Point(s).Ranges...)
			}
			d[name], points[name] = values, true
			continue
		}
		c, r, ok := textBound(e)
		if !ok || points[scan.Out[c.Index].Name] {
			continue
		}
		name := scan.Out[c.Index].Name
		if before, ok := d[name]; ok {
			r = narrower(before.Ranges[0], r)
		}
		d[name] = timeline.Values{Ranges: []timeline.ValueRange{r}}
	}
	return d
}

// textBound recognises a column of texts that is compared with a constant.
func textBound(e expr.Expr) (*expr.Column, timeline.ValueRange, bool) {
	c, op, value := comparisonOf(e)
	s, ok := value.(string)
	if !ok || !c.T.IsCharacter() {
		return nil, timeline.ValueRange{}, false
	}
	switch op {
	case ">", ">=":
		return c, timeline.ValueRange{Low: &s, LowOpen: op == ">"}, true
	case "<", "<=":
		return c, timeline.ValueRange{High: &s, HighOpen: op == "<"}, true
	}
	return nil, timeline.ValueRange{}, false
}

// narrower returns a range that all texts in both are in.
func narrower(a, b timeline.ValueRange) timeline.ValueRange {
	if b.Low != nil && (a.Low == nil || *b.Low >= *a.Low) {
		a.Low, a.LowOpen = b.Low, b.LowOpen || a.Low != nil && *a.Low == *b.Low && a.LowOpen
	}
	if b.High != nil && (a.High == nil || *b.High <= *a.High) {
		a.High, a.HighOpen = b.High, b.HighOpen || a.High != nil && *a.High == *b.High && a.HighOpen
	}
	return a
}
