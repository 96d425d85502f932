package ingest

import (
	"bytes"

	"github.com/hengedb/henge/internal/ingest/record"
)

// cutter finds where records end, without parsing them. A cutter is stateless: it sees text that
// begins at the start of a record.
type cutter interface {
	// last returns the end of the last whole record in text, 0 if there is none. A record that the
	// text's end cuts off is not whole.
	last(text []byte) int
	// first finds the first boundary between records in text, which may begin in the middle of a
	// record: key is where what marks it begins, end where the next record begins. It returns -1 if
	// text holds none that is certain. A split owns the records behind the keys in its range;
	// neighbours agree on them because they see the same marks whole.
	first(text []byte) (key, end int)
	// unify makes every end of a line in text, whole records, one that ends with a newline. It changes
	// bytes, and never their number.
	unify(text []byte)
}

// lineCutter cuts after every end of a line: records are lines.
type lineCutter struct{}

func (lineCutter) last(text []byte) int {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return lastReturn(text) + 1
}

func (lineCutter) first(text []byte) (key, end int) {
	i := bytes.IndexByte(text, '\n')
	before := text
	if i >= 0 {
		before = text[:i]
	}
	if r := bareReturn(before, false); r >= 0 {
		i = r
	}
	if i < 0 {
		return -1, -1
	}
	return i, i + 1
}

func (lineCutter) unify(text []byte) { unifyLines(text) }

// jsonCutter cuts between top-level values. Newline-delimited and indented files are cut where a
// line that ends in } is followed by one that begins with {: within a value a comma stands between
// them, and strings hold no raw newline, so the rule is exact.
type jsonCutter struct{}

func (jsonCutter) last(text []byte) int {
	for end := len(text); ; {
		i := bytes.LastIndexByte(text[:end], '\n')
		if i < 0 {
			break
		}
		if betweenObjects(text, i) >= 0 {
			return i + 1
		}
		end = i
		if len(text)-end > 64<<10 {
			break // no newline-delimited file; or a line is huge
		}
	}
	return lastValueEnd(text, 0, 0)
}

func (jsonCutter) first(text []byte) (key, end int) {
	for i := 0; ; i++ {
		n := bytes.IndexAny(text[i:], "\r\n")
		if n < 0 {
			return -1, -1
		}
		i += n
		if key := betweenObjects(text, i); key >= 0 {
			return key, i + 1
		}
	}
}

// unify may change carriage returns within strings: they are no JSON there, as newlines are none.
func (jsonCutter) unify(text []byte) { unifyLines(text) }

// betweenObjects returns where the object before the newline at i ends if the newline separates two
// top-level objects, else -1.
func betweenObjects(text []byte, i int) int {
	before, after := i-1, i+1
	for before >= 0 && record.IsJSONSpace(text[before]) {
		before--
	}
	for after < len(text) && record.IsJSONSpace(text[after]) {
		after++
	}
	if before >= 0 && after < len(text) && text[before] == '}' && text[after] == '{' {
		return before
	}
	return -1
}

// arrayCutter cuts between the elements of one top-level array. Text begins between elements or at
// the array's own bracket.
type arrayCutter struct{}

func (arrayCutter) last(text []byte) int {
	depth := 1
	if t := bytes.TrimLeft(text, " \t\r\n"); len(t) > 0 && t[0] == '[' {
		depth = 0
	}
	return lastValueEnd(text, depth, 1)
}

func (arrayCutter) first([]byte) (key, end int) { return -1, -1 }

func (arrayCutter) unify(text []byte) { unifyLines(text) }

// lastValueEnd returns the end of the last object or array in text that closes at depth base or
// below; depth is that of the start of text. A raw newline ends a string: JSON allows none in it,
// and so a record with a missing quote does not take the rest of the file with it.
func lastValueEnd(text []byte, depth, base int) int {
	end, inString := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString {
			switch c {
			case '\\':
				i++
			case '"', '\n', '\r':
				inString = false
			}
			continue
		}
		switch c {
		case '"':
			inString = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= base {
				end, depth = i+1, max(depth, 0)
			}
		}
	}
	return end
}

// valueEnd returns the end of the JSON value at the head of text, or -1 if it does not end in text
// or can't be one. It gives up early on text that cannot be a value spread over lines, so that a
// bad line costs a look at its neighbour and not at the whole chunk.
func valueEnd(text []byte) int {
	depth, inString, last := 0, false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString {
			switch c {
			case '\\':
				i++
			case '"':
				inString, last = false, c
			case '\n':
				return -1
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			inString = true
		case '{', '[':
			if last != 0 && last != ',' && last != ':' && last != '[' {
				return -1
			}
			if depth++; depth > record.MaxDepth {
				return -1
			}
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
		if depth == 0 {
			return -1
		}
		last = c
	}
	return -1
}

// csvCutter cuts after ends of lines that are not within quotes. A quote counts at the start of a
// field only.
type csvCutter struct{ delimiter byte }

func (c csvCutter) last(text []byte) int {
	end := 0
	c.outside(text, func(from, to int) {
		if n := bytes.LastIndexByte(text[from:to], '\n'); n >= 0 {
			end = from + n + 1
		}
	})
	if end > 0 {
		return end
	}
	c.outside(text, func(from, to int) {
		if n := lastReturn(text[from:min(to+1, len(text))]); n >= 0 && from+n < to {
			end = from + n + 1
		}
	})
	return end
}

// outside calls f for the parts of text that are not within quotes. It returns the place of a quote
// that nothing closes, or -1.
func (c csvCutter) outside(text []byte, f func(from, to int)) (open int) {
	for at := 0; ; {
		q := bytes.IndexByte(text[at:], '"')
		if q < 0 {
			f(at, len(text))
			return -1
		}
		f(at, at+q)
		quote := at + q
		at = quote + 1
		if quote > 0 && text[quote-1] != '\n' && text[quote-1] != '\r' && text[quote-1] != c.delimiter {
			continue // within a field it is a byte like any other
		}
		for { // to behind the closing quote; doubled ones stand for one
			n := bytes.IndexByte(text[at:], '"')
			if n < 0 {
				return quote
			}
			if at += n + 1; at == len(text) || text[at] != '"' {
				break
			}
			at++
		}
	}
}

// first is unknown: whether a newline is within quotes depends on all before it.
func (csvCutter) first([]byte) (key, end int) { return -1, -1 }

func (c csvCutter) unify(text []byte) {
	if bareReturn(text, true) < 0 {
		return
	}
	open := c.outside(text, func(from, to int) {
		for i := from; i < to; i++ {
			n := bareReturn(text[i:min(to+1, len(text))], to == len(text))
			if n < 0 {
				return
			}
			i += n
			text[i] = '\n'
		}
	})
	if open >= 0 { // behind a quote that nothing closes every end of a line counts
		unifyLines(text[open:])
	}
}

// bareReturn returns the place of the first carriage return that ends a line by itself, without a
// newline behind it, or -1. One at the end of text counts if text is whole.
func bareReturn(text []byte, whole bool) int {
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '\r')
		if n < 0 {
			return -1
		}
		at += n + 1
		if at == len(text) {
			if whole {
				return at - 1
			}
			return -1
		}
		if text[at] != '\n' {
			return at - 1
		}
	}
}

// lastReturn returns the place of the last carriage return that certainly ends a line by itself, or
// -1.
func lastReturn(text []byte) int {
	for end := len(text) - 1; end > 0; {
		end = bytes.LastIndexByte(text[:end], '\r')
		if end >= 0 && text[end+1] != '\n' {
			return end
		}
	}
	return -1
}

// unifyLines makes every end of a line in text, whole lines, one that ends with a newline.
func unifyLines(text []byte) {
	for at := 0; ; at++ {
		n := bareReturn(text[at:], true)
		if n < 0 {
			return
		}
		at += n
		text[at] = '\n'
	}
}
