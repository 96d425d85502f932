package auth

import (
	"context"
	"slices"
	"strings"
)

// Seen contains the rules that restrict what a user sees of datasources. It is stored with a task,
// because the task runs later in another process and must read with the rules that were in force at
// its submission.
type Seen struct {
	// Rules are the rules of each restricted datasource.
	Rules map[string][]SeenRule `json:"rules"`
	// Attributes and Roles are the data about the user that rules and statements may read.
	Attributes map[string][]string `json:"attributes,omitempty"`
	Roles      []string            `json:"roles,omitempty"`
}

// SeenRule is a rule with the role that contains it.
type SeenRule struct {
	Role string `json:"role"`
	Rule
}

// Seen returns the rules for datasources; nil: none of them is restricted. It contains only the
// user attributes that the rules or a statement name.
func (a *Access) Seen(ctx context.Context, dataSources []string, statement string) (*Seen, error) {
	out := &Seen{Rules: map[string][]SeenRule{}}
	texts := []string{statement}
	for _, name := range dataSources {
		g, err := a.Grant(ctx, Reads(Datasource, name))
		if err != nil {
			return nil, err
		}
		if !g.Limited() || out.Rules[name] != nil {
			continue
		}
		for _, r := range g.Rules {
			out.Rules[name] = append(out.Rules[name], SeenRule{r.Role, *r})
			texts = append(texts, r.Rows)
			for _, c := range r.Columns {
				texts = append(texts, c.Mask)
			}
		}
	}
	if len(out.Rules) == 0 {
		return nil, nil //nolint:nilnil // all is shown
	}
	out.Roles = a.Roles()
	for name, values := range a.Identity().Attributes {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, name) }) {
			if out.Attributes == nil {
				out.Attributes = map[string][]string{}
			}
			out.Attributes[name] = values
		}
	}
	return out, nil
}

// Of returns the rules of a datasource; none: it is not restricted.
func (v *Seen) Of(dataSource string) (out []*Rule) {
	for i := range v.Rules[dataSource] {
		r := &v.Rules[dataSource][i]
		rule := r.Rule
		rule.Role = r.Role
		out = append(out, &rule)
	}
	return out
}

// RolesOf returns the names of the roles whose rules restrict a grant, in the form of messages:
// [a], [b].
func (g Grant) RolesOf() string {
	var names []string
	for _, r := range g.Rules {
		if r != nil {
			names = append(names, "["+r.Role+"]")
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
