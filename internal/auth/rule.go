package auth

import (
	"cmp"
	"slices"
)

// Rule limits what a grant shows of a datasource (spec/access.md, section 2).
type Rule struct {
	// Role is whose permission it stands in.
	Role string `json:"-"`
	// Rows is the SQL condition that the rows shown meet; "": all rows.
	Rows string `json:"rows,omitempty"`
	// Columns are those that are not shown as they are.
	Columns map[string]Cover `json:"columns,omitempty"`
}

// Cover says what stands for a column.
type Cover struct {
	// Mask is a SQL expression over the row; "": there is none.
	Mask string `json:"mask,omitempty"`
	// Hide says that the column is not there at all.
	Hide bool `json:"hide,omitempty"`
}

// Shown is what several rules show together.
type Shown struct {
	// Rows are the rules whose conditions say which rows are shown: those that meet one of them. nil:
	// all rows are shown.
	Rows []*Rule
	// Columns are the columns that none of the rules shows as they are. A mask that some rule has
	// stands before hiding; of several masks that of the role whose name is first.
	Columns map[string]ColumnRule
}

// ColumnRule is what stands for a column, and the role whose rule says so.
type ColumnRule struct {
	Cover
	Role string
}

// Together returns what rules show together; nil: everything, as there are none, or a permission
// without a rule is among them.
func Together(rules []*Rule) *Shown {
	if len(rules) == 0 || slices.Contains(rules, nil) {
		return nil
	}
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b *Rule) int { return cmp.Compare(a.Role, b.Role) })
	out := &Shown{Columns: map[string]ColumnRule{}}
	if !slices.ContainsFunc(sorted, func(r *Rule) bool { return r.Rows == "" }) {
		out.Rows = sorted
	}
	for name := range sorted[0].Columns {
		least := ColumnRule{Cover: Cover{Hide: true}, Role: sorted[0].Role}
		covered := true
		for _, r := range sorted {
			c, is := r.Columns[name]
			covered = covered && is && (c.Hide || c.Mask != "")
			if is && !c.Hide && least.Hide {
				least = ColumnRule{Cover: c, Role: r.Role}
			}
		}
		if covered {
			out.Columns[name] = least
		}
	}
	if out.Rows == nil && len(out.Columns) == 0 {
		return nil
	}
	return out
}

// Limited tells whether less than the whole resource is granted.
func (g Grant) Limited() bool { return Together(g.Rules) != nil }
