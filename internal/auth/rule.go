package auth

import (
	"cmp"
	"slices"
)

// Rule restricts the rows and columns of a datasource that a grant makes visible
// (docs/security.md).
type Rule struct {
	// Role is the role whose permission contains the rule.
	Role string `json:"-"`
	// Rows is an SQL condition that visible rows satisfy; "": all rows.
	Rows string `json:"rows,omitempty"`
	// Columns are the masked and hidden columns.
	Columns map[string]Cover `json:"columns,omitempty"`
}

// Cover defines how a column is masked or hidden.
type Cover struct {
	// Mask is an SQL expression over the row that replaces the column; "": there is none.
	Mask string `json:"mask,omitempty"`
	// Hide removes the column.
	Hide bool `json:"hide,omitempty"`
}

// Shown is the combined effect of several rules.
type Shown struct {
	// Rows are the rules with conditions. A row is visible if it satisfies one of the conditions. nil:
	// all rows are visible.
	Rows []*Rule
	// Columns are the columns that every rule masks or hides. If any rule has a mask, the column is
	// masked and not hidden. Of several masks, the mask of the role whose name is first in
	// alphabetical order applies.
	Columns map[string]ColumnRule
}

// ColumnRule is the cover of a column, and the role that defines it.
type ColumnRule struct {
	Cover
	Role string
}

// Together combines rules; nil: everything is visible, because there are no rules or one of the
// permissions is unrestricted.
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

// Limited reports whether rules restrict the grant.
func (g Grant) Limited() bool { return Together(g.Rules) != nil }
