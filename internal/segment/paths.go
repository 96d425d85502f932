package segment

import "strings"

// A path of names inside the values of a nested column may have a column of its own, which holds
// the scalars that stand there: what is asked of a path that has one need not be looked for in the
// texts. Readers ask for it by PathName; it is not among the columns of Info. A segment need not
// have one for a path: then Column returns nil, and the texts tell.

// pathMark stands between the parts of a path column's name. Names of columns that people give do
// not have it.
const pathMark = "\x00"

// PathName is the name of the column of the scalars at a path of a nested column. The path has the
// form of jsontext.Path.Members.
func PathName(column, path string) string { return column + pathMark + path }

// CutPath splits the name of a path column; false: it is the name of another column.
func CutPath(name string) (column, path string, ok bool) { return strings.Cut(name, pathMark) }

// key is what the column is asked for by.
func (c *columnMeta) key() string {
	if c.Path == "" {
		return c.Name
	}
	return PathName(c.Name, c.Path)
}

// label names the column in messages.
func (c *columnMeta) label() string {
	if c.Path == "" {
		return c.Name
	}
	return c.Name + " " + c.Path
}

// columnNumber returns the number of the column called name. For a path without a column it is the
// nested column's, which is read instead.
func (s *Segment) columnNumber(name string) (int, bool) {
	i, ok := s.byName[name]
	if !ok {
		if column, _, path := CutPath(name); path {
			i, ok = s.byName[column]
		}
	}
	return i, ok
}
