package native

import (
	"encoding/json"
	"regexp"
	"strings"
)

// VirtualColumn is a column computed from others. The concrete kinds are in this file.
type VirtualColumn interface{ output() string }

// VirtualColumnOf holds a virtual column.
type VirtualColumnOf struct{ VirtualColumn }

// UnmarshalJSON implements json.Unmarshaler.
func (v *VirtualColumnOf) UnmarshalJSON(text []byte) error { return readText(text, v) }

func (v *VirtualColumnOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	v.VirtualColumn, err = decodeTyped(d, m, "type", "Virtual column", virtualTypes)
	return err
}

var virtualTypes = map[string]func() VirtualColumn{
	"expression":   func() VirtualColumn { return new(ExpressionColumn) },
	"nested-field": func() VirtualColumn { return new(NestedColumn) },
	"mv-filtered":  func() VirtualColumn { return new(FilteredColumn) },
}

// ExpressionColumn is an expression, converted to OutputType if one is given.
type ExpressionColumn struct {
	Name       string   `json:"name"`
	Expression string   `json:"expression"`
	OutputType TypeName `json:"outputType"`
}

// NestedColumn is a value inside a JSON column.
type NestedColumn struct {
	ColumnName     string     `json:"columnName"`
	OutputName     string     `json:"outputName"`
	ExpectedType   TypeName   `json:"expectedType"`
	PathParts      []PathPart `json:"pathParts"`
	Path           string     `json:"path"`
	ProcessFromRaw Flag       `json:"processFromRaw"`
	UseJQSyntax    Flag       `json:"useJqSyntax"`
}

// PathPart is a step of a path: a field or an array element.
type PathPart struct {
	Type  string `json:"type"`
	Field string `json:"field"`
	Index Whole  `json:"index"`
}

// jqName is a name in quotes of a path in the syntax of jq, which is else that of JSON_VALUE
// without its $. A ? of it leaves out errors, and there are none.
var jqName = regexp.MustCompile(`\.?"([^"]*)"`)

// JSONPath returns the path in the syntax of JSON_VALUE.
func (c *NestedColumn) JSONPath() string {
	switch {
	case c.PathParts == nil && bool(c.UseJQSyntax):
		return "$" + strings.TrimSuffix(jqName.ReplaceAllString(strings.ReplaceAll(c.Path, "?", ""), "['$1']"), ".")
	case c.PathParts == nil:
		return c.Path
	}
	var b strings.Builder
	b.WriteByte('$')
	for _, p := range c.PathParts {
		if p.Type == "arrayElement" {
			text, _ := json.Marshal(int64(p.Index)) // a number encodes
			b.WriteString("[" + string(text) + "]")
			continue
		}
		b.WriteString("['" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(p.Field) + "']")
	}
	return b.String()
}

// FilteredColumn keeps the listed values of a multi-value column, or all other values if
// IsAllowList is false.
type FilteredColumn struct {
	Name        string      `json:"name"`
	Delegate    DimensionOf `json:"delegate"`
	Values      []Text      `json:"values"`
	IsAllowList *Flag       `json:"isAllowList"`
}

// Name returns the name of the column.
func (v VirtualColumnOf) Name() string { return v.output() }

func (c *ExpressionColumn) output() string { return c.Name }
func (c *NestedColumn) output() string     { return c.OutputName }
func (c *FilteredColumn) output() string   { return c.Name }
