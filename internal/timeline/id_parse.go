package timeline

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
)

// ParseID reads the text of an id of a known datasource. A text that ends in "_" and a positive
// number has two readings, with that number as partition or as part of the version: ParseID returns
// the first, as Druid does. Code that looks up ids uses ParseIDs. See quirk Q012.
func ParseID(dataSource, text string) (SegmentID, bool) {
	ids := ParseIDs(dataSource, text)
	if len(ids) == 0 {
		return SegmentID{}, false
	}
	return ids[0], true
}

// ParseIDs returns every reading of the text as an id of the datasource, the most likely first:
// zero, one or two.
func ParseIDs(dataSource, text string) []SegmentID {
	rest, ok := strings.CutPrefix(text, dataSource+"_")
	if !ok || dataSource == "" {
		return nil
	}
	startText, rest, ok1 := strings.Cut(rest, "_")
	endText, version, ok2 := strings.Cut(rest, "_")
	if !ok1 || !ok2 || version == "" {
		return nil
	}
	start, ok1 := chrono.ParseISO(startText)
	end, ok2 := chrono.ParseISO(endText)
	if !ok1 || !ok2 || start >= end {
		return nil
	}
	id := SegmentID{DataSource: dataSource, Interval: chrono.Interval{Start: start, End: end}, Version: version}
	if cut := strings.LastIndexByte(version, '_'); cut > 0 {
		if n, ok := partitionNumber(version[cut+1:]); ok {
			short := id
			short.Version, short.Partition = version[:cut], n
			return []SegmentID{short, id}
		}
	}
	return []SegmentID{id}
}

// ParseAnyID returns the readings of a text whose datasource is not known: any underscore can be
// the end of its name.
func ParseAnyID(text string) []SegmentID {
	var ids []SegmentID
	for i := range len(text) {
		if text[i] == '_' && i > 0 {
			ids = append(ids, ParseIDs(text[:i], text)...)
		}
	}
	return ids
}

// partitionNumber reads a positive number as String writes it: an id ending in "_0" or "_01" has
// that as part of its version.
func partitionNumber(s string) (int, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}
