package nativequery

import (
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// look completes an analysis by what only the columns themselves say: bounds that the description
// of the segment cuts short or does not have, and what nested data is made of.
func (a *analysis) look(r *analysesRequest, reader segment.Reader) error {
	info := reader.Info()
	for i := range info.Columns {
		c := &info.Columns[i]
		d, ok := a.Columns.columns[c.Name]
		if !ok {
			continue
		}
		var err error
		if c.Multi {
			if d.HasMultipleValues, err = hasSeveral(reader, c.Name); err != nil {
				return err
			}
		}
		switch {
		case c.Type.ComplexName() == "json":
			err = d.lookInto(reader, c)
		case c.Type == vector.String && c.Distinct < 0:
			err = d.count(r, reader, c)
		case d.Type == "STRING" && slices.Contains(r.Asked, "minmax") && (c.Multi || !c.MinExact || !c.MaxExact):
			err = d.bound(reader, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasSeveral reports whether a row of a multi-value string has more than one value.
func hasSeveral(reader segment.Reader, name string) (bool, error) {
	column, err := reader.Column(name)
	if err != nil || column == nil {
		return false, err
	}
	const batch = 4096
	var buf segment.Buffer
	for from, rows := 0, reader.Info().Rows; from < rows; from += batch {
		v, err := column.Read(&buf, from, min(from+batch, rows))
		if err != nil {
			return false, err
		}
		if v = v.Flat(); v.Type.Kind != vector.KindList {
			return false, nil
		}
		for i := 1; i < len(v.Offsets); i++ {
			if v.Offsets[i]-v.Offsets[i-1] > 1 {
				return true, nil
			}
		}
	}
	return false, nil
}

// count finds the values of a column of which nothing is kept: that of rows in memory.
func (c *columnAnalysis) count(r *analysesRequest, reader segment.Reader, info *segment.ColumnInfo) error {
	values := map[string]bool{}
	if err := eachText(reader, info.Name, func(s string) bool {
		if !values[s] {
			values[strings.Clone(s)] = true
		}
		return true
	}); err != nil {
		return err
	}
	n := len(values)
	if info.Nulls > 0 {
		n++ // as in a dictionary
	}
	if slices.Contains(r.Asked, "cardinality") {
		c.Cardinality = &n
	}
	if !slices.Contains(r.Asked, "minmax") || len(values) == 0 {
		return nil
	}
	ordered := slices.Sorted(maps.Keys(values))
	c.MinValue, c.MaxValue = ordered[0], ordered[len(ordered)-1]
	if info.Nulls > 0 {
		c.MinValue = nil
	}
	return nil
}

// bound finds the least and the greatest text of a column: NULL is the least where there is one.
func (c *columnAnalysis) bound(reader segment.Reader, info *segment.ColumnInfo) error {
	column, err := reader.Column(info.Name)
	if err != nil || column == nil {
		return err
	}
	dict, err := column.Dict()
	if err != nil {
		return err
	}
	var least, greatest string
	switch {
	case dict != nil && dict.Sorted && dict.Len() > 0:
		least, greatest = strings.Clone(dict.Value(0)), strings.Clone(dict.Value(uint32(dict.Len()-1)))
	case dict == nil && !info.Multi:
		found := false
		err := eachText(reader, info.Name, func(s string) bool {
			if !found || s < least {
				least = strings.Clone(s)
			}
			if !found || s > greatest {
				greatest = strings.Clone(s)
			}
			found = true
			return true
		})
		if err != nil || !found {
			return err
		}
	default:
		return nil
	}
	c.MinValue, c.MaxValue = least, greatest
	if info.Nulls > 0 {
		c.MinValue = nil
	}
	return nil
}

// lookInto tells nested data that is nothing but texts, which is described as such, and nothing but
// empty lists from other nested data.
func (c *columnAnalysis) lookInto(reader segment.Reader, info *segment.ColumnInfo) error {
	const (
		unknown = iota
		texts
		lists
		other
	)
	kind := unknown
	err := eachText(reader, info.Name, func(s string) bool {
		this := other
		switch {
		case strings.HasPrefix(s, `"`):
			this = texts
		case s == "[]":
			this = lists
		}
		if kind != unknown && kind != this {
			this = other
		}
		kind = this
		return kind != other
	})
	switch {
	case err != nil:
		return err
	case kind == texts:
		none := 0
		c.Type, c.TypeSignature, c.Cardinality = vector.String.String(), vector.String.String(), &none
	case kind == lists:
		c.HasNulls = info.Nulls > 0
	}
	return nil
}

// eachText calls f with the texts of a column that are not null until it returns false.
func eachText(reader segment.Reader, name string, f func(string) bool) error {
	column, err := reader.Column(name)
	if err != nil || column == nil {
		return err
	}
	const batch = 4096
	var buf segment.Buffer
	for from, rows := 0, reader.Info().Rows; from < rows; from += batch {
		v, err := column.Read(&buf, from, min(from+batch, rows))
		if err != nil {
			return err
		}
		for row := range min(batch, rows-from) {
			if !v.IsNull(row) && !f(v.StringAt(row)) {
				return nil
			}
		}
	}
	return nil
}
