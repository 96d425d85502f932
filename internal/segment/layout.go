package segment

import (
	"fmt"

	"github.com/hengedb/henge/internal/vector"
)

// layoutError is a contradiction inside a footer, or between it and its file.
type layoutError struct {
	column string
	reason string
	newer  bool
}

func (e *layoutError) Error() string { return e.reason }

// check holds the footer against itself and against a file whose columns end at limit, so that
// whoever reads a part later knows that it lies in the file and is as long as its rows need. The
// values inside parts are checked when they are touched.
func (f *footer) check(limit int64) error {
	if f.rows < 0 || f.chunkLog2 == 0 {
		return &layoutError{reason: "the footer has no number of rows or no chunk size"}
	}
	names := make(map[string]*columnMeta, len(f.columns))
	end := int64(headerSize)
	for _, c := range f.columns {
		if names[c.key()] != nil {
			return &layoutError{column: c.label(), reason: "two columns have this name"}
		}
		names[c.key()] = c
		if err := c.checkPath(names[c.Name]); err != nil {
			return err
		}
		if c.off < end || c.length < 0 || c.length > limit-c.off || c.off%partAlign != 0 {
			return &layoutError{column: c.label(), reason: "its range is outside of the file"}
		}
		if c.rows >= 0 {
			return &layoutError{column: c.label(), reason: "it has a number of elements, but does not belong to a list"}
		}
		end = c.off + c.length
		c.rows = f.rows
		if err := f.checkColumn(c, c.length); err != nil {
			err.column = c.label()
			return err
		}
		c.Size = c.length
	}
	for _, s := range f.sortOrder {
		if names[s] == nil || names[s].Path != "" {
			return &layoutError{reason: "rows are sorted by a column that does not exist"}
		}
	}
	if f.hasTimes && f.minTime > f.maxTime {
		return &layoutError{reason: "the least time is after the greatest"}
	}
	return nil
}

// checkPath holds a column against parent, the one whose paths it may belong to.
func (c *columnMeta) checkPath(parent *columnMeta) error {
	switch {
	case c.Path != "" && (parent == nil || parent.Path != "" || parent.Type != vector.JSON):
		return &layoutError{column: c.label(), reason: "it belongs to a path, but there is no nested column of its name"}
	case c.Path != "" && c.Type != vector.Long && c.Type != vector.Double && c.Type != vector.String:
		return &layoutError{column: c.label(), reason: fmt.Sprintf("its type [%s] can't be that of a path", c.Type)}
	case c.Mixed && (c.Path == "" || c.Type != vector.Double):
		return &layoutError{column: c.label(), reason: "it has integers among other numbers, but does not belong to a path of doubles"}
	}
	return nil
}

func (f *footer) checkColumn(c *columnMeta, limit int64) *layoutError {
	bad := func(format string, args ...any) *layoutError {
		return &layoutError{reason: fmt.Sprintf(format, args...)}
	}
	if c.rows < 0 {
		return bad("a list's elements have no number")
	}
	seen := map[partKind]bool{}
	for _, p := range c.parts {
		if p.kind.String() == "unknown" {
			if p.kind.optional() {
				continue
			}
			return &layoutError{reason: "a part of it is of a kind that this release does not know", newer: true}
		}
		if seen[p.kind] {
			return bad("it has two parts of %s", p.kind)
		}
		seen[p.kind] = true
		if p.length <= 0 || p.off < 0 || p.off%partAlign != 0 || p.off > limit || p.length > limit-p.off {
			return bad("its %s is outside of its range", p.kind)
		}
		chunks := (p.length-1)>>f.chunkLog2 + 1
		if p.firstSum < 0 || int64(p.firstSum)+chunks > int64(len(f.checksums)) {
			return bad("its %s has no checksums", p.kind)
		}
	}
	length := func(k partKind) int64 {
		if p := c.part(k); p != nil {
			return p.length
		}
		return 0
	}
	rows := int64(c.rows)
	blocks := (rows + BlockRows - 1) / BlockRows
	switch {
	case c.Nulls < 0 || c.Nulls > c.rows:
		return bad("it has more nulls than rows")
	case c.enc == encNull && c.Nulls != c.rows, c.enc != encNull && c.rows == 0:
		return bad("its encoding does not fit the number of its nulls")
	case c.Multi && c.Type != vector.ListOf(vector.String):
		return bad("it is multi-valued and no list of strings")
	case c.enc == encNull && c.DistinctExact && c.Distinct != 0:
		return bad("it has values and nulls only")
	case c.enc == encNull:
		return nil
	}
	valid := int64(0)
	if c.Nulls > 0 {
		valid = 8 * ((rows + 63) / 64)
	}
	if length(partValid) != valid {
		return bad("its validity does not fit the number of its rows")
	}
	if sums := length(partSums); sums != 0 && (c.enc == encFrame || c.enc == encRaw) && sums != 8*blocks {
		return bad("its block sums do not fit the number of its rows")
	}
	switch c.enc {
	case encDict:
		if c.Type.Kind != vector.KindString && c.Type.Kind != vector.KindComplex {
			return bad("its type [%s] can't be a dictionary", c.Type)
		}
		if blocks := length(partDictBlocks); blocks != 0 {
			c.dictSize = c.Distinct
			if blocks%dictBlockSize != 0 || c.part(partDictData) == nil || c.part(partDictOffsets) != nil || c.part(partDictBytes) != nil {
				return bad("its dictionary blocks have an impossible length")
			}
			if !c.DistinctExact || c.dictSize < 1 || int64(c.dictSize) > maxDictBytes {
				return bad("its dictionary has an impossible number of values")
			}
		} else {
			n := length(partDictOffsets)
			c.dictSize = int(n/4) - 1
			if n%4 != 0 || n < 8 || n > 4*(1<<32) {
				return bad("its dictionary offsets have an impossible length")
			}
		}
		if c.DistinctExact && c.Distinct != c.dictSize {
			return bad("its dictionary does not have its number of values")
		}
		if (c.width == 0) != (c.dictSize == 1) || c.width == 3 || length(partCodes) != int64(c.width)*rows {
			return bad("its codes do not fit the number of its rows")
		}
		if index := length(partIndexOffsets); index != 0 {
			if index != 8*(int64(c.dictSize)+1) || c.part(partIndexBitmaps) == nil {
				return bad("its index does not fit its dictionary")
			}
			c.Indexed = true
		}
	case encFrame:
		if c.Type.Kind != vector.KindLong {
			return bad("its type [%s] can't be a frame of reference", c.Type)
		}
		if length(partBlocks) != frameBlockSize*blocks || length(partData) < frameSlack {
			return bad("its blocks do not fit the number of its rows")
		}
	case encRaw:
		size := int64(8)
		if c.Type.Kind == vector.KindFloat {
			size = 4
		}
		if c.Type.Kind != vector.KindDouble && c.Type.Kind != vector.KindFloat {
			return bad("its type [%s] can't be raw numbers", c.Type)
		}
		if length(partBlocks) != rawBlockSize*blocks || length(partData) != size*rows {
			return bad("its data does not fit the number of its rows")
		}
	case encList:
		if c.Type.Kind != vector.KindList || c.element == nil || c.element.Type != c.Type.Elem() {
			return bad("it is a list without elements of its type")
		}
		if length(partListOffsets) != 4*(rows+1) {
			return bad("its list offsets do not fit the number of its rows")
		}
		if c.element.Name = c.Name; c.element.Path != "" || c.element.Mixed {
			return bad("its elements have a path")
		}
		if err := f.checkColumn(c.element, limit); err != nil {
			return err
		}
		c.Indexed = c.element.Indexed
	case encBlob:
		if c.Type.Kind != vector.KindComplex {
			return bad("its type [%s] can't be opaque", c.Type)
		}
		if n := length(partBlobBlocks); n == 0 || n%blobBlockSize != 0 || c.part(partBlobData) == nil {
			return bad("its blocks have an impossible length")
		}
	default:
		return &layoutError{reason: "its encoding is one that this release does not know", newer: true}
	}
	return nil
}
