package segment

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Anatomy describes the parts of a segment file: the use of its bytes and the layout of each
// column. It marshals to JSON; WriteText prints it.
type Anatomy struct {
	File             string          `json:"file"`
	Version          int             `json:"version"`
	Size             int64           `json:"size"`
	Rows             int             `json:"rows"`
	BytesPerRow      float64         `json:"bytesPerRow"`
	MinTime          string          `json:"minTime,omitempty"`
	MaxTime          string          `json:"maxTime,omitempty"`
	SortOrder        []string        `json:"sortOrder,omitempty"`
	Rollup           bool            `json:"rollup"`
	QueryGranularity string          `json:"queryGranularity,omitempty"`
	Metadata         json.RawMessage `json:"metadata,omitempty"`
	// FooterSize is the bytes outside of columns: header, footer, tail and gaps.
	FooterSize int64           `json:"footerSize"`
	Columns    []ColumnAnatomy `json:"columns"`
}

// ColumnAnatomy is one column of an Anatomy, or the elements of a list.
type ColumnAnatomy struct {
	Name string `json:"name"`
	// Path is set if the column contains the values at a path of the nested column Name.
	Path     string `json:"path,omitempty"`
	Type     string `json:"type"`
	Multi    bool   `json:"multiValue,omitempty"`
	Metric   string `json:"metric,omitempty"`
	Encoding string `json:"encoding"`
	// Detail describes the encoding: the width of codes, the number of blocks per width.
	Detail string `json:"detail,omitempty"`
	Rows   int    `json:"rows"`
	Nulls  int    `json:"nulls"`
	// Cardinality counts the distinct values; nil: not known.
	Cardinality      *int   `json:"cardinality,omitempty"`
	CardinalityExact bool   `json:"cardinalityExact"`
	Min              any    `json:"min,omitempty"`
	Max              any    `json:"max,omitempty"`
	Indexed          bool   `json:"indexed"`
	Offset           int64  `json:"offset"`
	Size             int64  `json:"size"`
	Parts            []Part `json:"parts"`

	Elements *ColumnAnatomy `json:"elements,omitempty"`
}

// Part is a part of a column and its location in the file.
type Part struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
}

// Inspect returns the anatomy of s. It reads the directories of columns, not their values.
func Inspect(s *Segment) (*Anatomy, error) {
	a := s.outline()
	for n, m := range s.foot.columns {
		c, err := s.column(n)
		if err != nil {
			return nil, err
		}
		a.Columns = append(a.Columns, *anatomyOf(m, m, c))
	}
	return a, nil
}

// Outline returns the anatomy of s from its footer alone: columns have no Detail, and the rest of a
// remote file is not read.
func Outline(s *Segment) *Anatomy {
	a := s.outline()
	for _, m := range s.foot.columns {
		a.Columns = append(a.Columns, *anatomyOf(m, m, nil))
	}
	return a
}

// outline is the anatomy without the columns.
func (s *Segment) outline() *Anatomy {
	i := s.Info()
	a := &Anatomy{File: s.name, Version: i.Version, Size: i.Size, Rows: i.Rows, SortOrder: i.SortOrder, Rollup: i.Rollup,
		QueryGranularity: i.QueryGranularity, Metadata: i.Metadata, FooterSize: i.Size}
	if i.Rows > 0 {
		a.BytesPerRow = float64(i.Size) / float64(i.Rows)
	}
	if i.HasTimes {
		a.MinTime, a.MaxTime = timeText(i.MinTime), timeText(i.MaxTime)
	}
	for _, m := range s.foot.columns {
		a.FooterSize -= m.length
	}
	return a
}

func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// anatomyOf takes a column apart, or the elements m of one; c is nil where it is not open.
func anatomyOf(top, m *columnMeta, c *fileColumn) *ColumnAnatomy {
	a := &ColumnAnatomy{Name: top.Name, Path: top.Path, Type: m.Type.String(), Multi: m.Multi, Metric: m.Metric, Encoding: m.enc.String(),
		Rows: m.rows, Nulls: m.Nulls, CardinalityExact: m.Distinct >= 0 && m.DistinctExact, Min: boundText(m.Min), Max: boundText(m.Max), Indexed: m.Indexed,
		Offset: top.off, Size: m.length}
	if m.Distinct >= 0 {
		a.Cardinality = &m.Distinct
	}
	for _, p := range m.parts {
		a.Parts = append(a.Parts, Part{Name: p.kind.String(), Offset: top.off + p.off, Size: p.length})
		if m != top {
			a.Size += p.length
		}
	}
	var element *fileColumn
	if c != nil {
		a.Detail, element = c.detail(), c.element
	}
	if m.element != nil {
		a.Elements = anatomyOf(top, m.element, element)
	}
	return a
}

// boundText makes bounds fit for JSON, which has no infinities.
func boundText(x any) any {
	if d, ok := x.(float64); ok && (d-d != 0) {
		return fmt.Sprint(d)
	}
	return x
}

func (c *fileColumn) detail() string {
	switch c.meta.enc {
	case encDict:
		if c.meta.width == 0 {
			return "one value, no codes"
		}
		detail := fmt.Sprintf("codes of %d bytes", c.meta.width)
		if c.packed != nil {
			detail += fmt.Sprintf(", %d bytes of text in %d packed blocks", c.packed.text, len(c.packed.blocks))
		}
		return detail
	case encFrame:
		var widths [9]int
		var packed [maxPackedBits + 1]int
		units := 0
		for i := range c.frames {
			if b := c.frames[i].packed(); b > 0 {
				packed[b]++
			} else {
				widths[c.frames[i].width()]++
			}
			if c.frames[i].Unit > 1 {
				units++
			}
		}
		var out []string
		for w, n := range widths {
			if n > 0 {
				out = append(out, fmt.Sprintf("%d blocks of width %d", n, w))
			}
		}
		for b, n := range packed {
			if n > 0 {
				out = append(out, fmt.Sprintf("%d blocks of %d bits", n, b))
			}
		}
		if units > 0 {
			out = append(out, fmt.Sprintf("%d with a unit", units))
		}
		return strings.Join(out, ", ")
	case encBlob:
		packed, decoded := 0, int64(0)
		for _, b := range c.blobs {
			decoded += int64(b.Decoded)
			if b.Codec == codecZstd {
				packed++
			}
		}
		return fmt.Sprintf("%d blocks, %d compressed with zstd, %d bytes when decoded", len(c.blobs), packed, decoded)
	}
	return ""
}

// WriteText prints the anatomy for people.
func (a *Anatomy) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "file\t%s\nformat version\t%d\nrows\t%d\nsize\t%d bytes (%.1f per row)\n", a.File, a.Version, a.Rows, a.Size, a.BytesPerRow)
	if a.MinTime != "" {
		fmt.Fprintf(w, "times\t%s to %s\n", a.MinTime, a.MaxTime)
	}
	fmt.Fprintf(w, "sorted by\t%s\nrollup\t%t\n", strings.Join(a.SortOrder, ", "), a.Rollup)
	if a.QueryGranularity != "" {
		fmt.Fprintf(w, "query granularity\t%s\n", a.QueryGranularity)
	}
	if len(a.Metadata) > 0 {
		fmt.Fprintf(w, "metadata\t%s\n", a.Metadata)
	}
	fmt.Fprintf(w, "outside of columns\t%d bytes\n\n", a.FooterSize)
	if err := w.Flush(); err != nil {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "column\ttype\tencoding\trows\tnulls\tdistinct\tbytes\tof file\tdetail")
	for i := range a.Columns {
		a.Columns[i].writeText(w, a.Size, "")
	}
	return w.Flush()
}

func (c *ColumnAnatomy) writeText(w io.Writer, size int64, indent string) {
	distinct := "-"
	if c.Cardinality != nil {
		if distinct = fmt.Sprint(*c.Cardinality); !c.CardinalityExact {
			distinct = "~" + distinct
		}
	}
	kind := c.Type
	if c.Multi {
		kind += " multi-value"
	}
	if c.Metric != "" {
		kind += " metric " + c.Metric
	}
	if c.Path != "" {
		kind += " path"
	}
	name := c.Name
	if c.Path != "" {
		name += " " + c.Path
	}
	if indent != "" {
		name = "elements"
	}
	fmt.Fprintf(w, "%s%s\t%s\t%s\t%d\t%d\t%s\t%d\t%.1f%%\t%s\n", indent, name, kind, c.Encoding, c.Rows, c.Nulls, distinct, c.Size,
		100*float64(c.Size)/float64(size), c.Detail)
	for _, p := range c.Parts {
		fmt.Fprintf(w, "%s  %s\t\t\t\t\t\t%d\t%.1f%%\tat %d\n", indent, p.Name, p.Size, 100*float64(p.Size)/float64(size), p.Offset)
	}
	if c.Elements != nil {
		c.Elements.writeText(w, size, indent+"  ")
	}
}
