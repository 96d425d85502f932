package ingest

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// delimiters are those that are looked for, and that win in this order where several divide every
// record alike: a comma may be within values, too, as in 1,50.
var delimiters = []string{"\t", ";", "|", ","}

// headerRows is how many records decide what the first row and the delimiter are.
const headerRows = 200

// delimitedFormat decides how delimited files are read by the start of the first one.
func (s *Surveyor) delimitedFormat(name string, head []byte) *Delimited {
	d := s.o.Delimiter
	if d == "" {
		d = s.findDelimiter(name, head)
	}
	f := &Delimited{kind: "csv", Delimiter: d, ListDelimiter: "\x01"}
	if d == "\t" && !hasQuotes(head, d) || len(d) != 1 {
		f.kind = "tsv"
	}
	if s.o.Header != nil {
		f.FromHeader = *s.o.Header
	} else {
		f.FromHeader = looksLikeHeader(f, head)
	}
	return f
}

func (s *Surveyor) findDelimiter(name string, head []byte) string {
	best, score := "", 0
	for _, d := range delimiters {
		same, all, width := evenness(head, d)
		if same == all && width > 1 {
			return d
		}
		if width > 1 && same*width > score {
			best, score = d, same*width
		}
	}
	switch base := strings.ToLower(name); {
	case best != "":
		return best
	case strings.Contains(base, ".tsv") || strings.Contains(base, ".tab"):
		return "\t"
	}
	return ","
}

// evenness counts how many of the first records have as many fields as the first one.
func evenness(text []byte, delimiter string) (same, all, width int) {
	s := &splitter{text: text, delimiter: []byte(delimiter), quotes: true}
	for all < headerRows && s.next() {
		if s.blank() || s.at == len(s.text) && all > 0 && len(text) == sniffBytes {
			continue
		}
		if all++; width == 0 {
			width = len(s.fields)
		}
		if len(s.fields) == width {
			same++
		}
	}
	return same, all, width
}

// hasQuotes reports whether fields are in quotes, all of which are closed.
func hasQuotes(text []byte, delimiter string) bool {
	s := &splitter{text: text, delimiter: []byte(delimiter), quotes: true}
	quoted := false
	for n := 0; n < headerRows && s.next(); n++ {
		if s.problem != "" {
			return false
		}
		quoted = quoted || slices.ContainsFunc(s.fields, func(f span) bool { return f.from&unquotedSpan != 0 })
	}
	return quoted
}

// looksLikeHeader reports whether the first record holds names. It does if it is text where the
// records below it have numbers or times, and if it is text all over. It does not if it has numbers
// or times itself, as the records below it have.
func looksLikeHeader(f *Delimited, text []byte) bool {
	s := &splitter{text: text, delimiter: []byte(f.Delimiter), quotes: f.quotes()}
	var first []string
	var others [][2]int // of the records below: values, and those of them that are numbers or times
	for n := 0; n < headerRows && s.next(); {
		if s.blank() {
			continue
		}
		n++
		for i := range s.fields {
			value := strings.TrimSpace(string(s.field(i)))
			switch {
			case n == 1:
				first, others = append(first, value), append(others, [2]int{})
			case i < len(others) && value != "":
				others[i][0]++
				others[i][1] += btoi(isMeasure(value))
			}
		}
	}
	names, measures := 0, 0
	for i, value := range first {
		switch below := others[i]; {
		case value == "":
		case isMeasure(value):
			measures++
		case below[0] > 0 && below[0] == below[1]:
			names++
		}
	}
	return names > 0 || measures == 0
}

// isMeasure reports whether a field is a number or a time.
func isMeasure(value string) bool {
	if _, ok := numberOfField([]byte(value)); ok {
		return true
	}
	if _, ok := chrono.ParseTimestamp(value, nil); ok {
		return true
	}
	if value[0] >= '0' && value[0] <= '9' && strings.ContainsAny(value, "/.-:") {
		return slices.ContainsFunc(textPatterns, func(p *chrono.Pattern) bool { _, ok := p.Parse(value, nil); return ok })
	}
	return false
}

// fields surveys a delimited file.
func (s *Surveyor) fields(ctx context.Context, in *input, head []byte) error {
	f := s.delimited
	text, err := openChunks(ctx, f, in)
	if err != nil {
		return err
	}
	defer func() { _ = text.close() }() // it was only read
	columns, err := s.header(text.header, head)
	if err != nil {
		return err
	}
	return s.chunks(ctx, text, func(c chunk) error {
		if c.broken {
			s.begin()
			s.fail(recordTooLarge + ", or a quote is not closed")
			s.end()
			return nil
		}
		r := &splitter{text: c.data, delimiter: []byte(f.Delimiter), quotes: f.quotes(), line: 1}
		r.bare = len(r.delimiter) == 1 && (!r.quotes || bytes.IndexByte(r.text, '"') < 0)
		valid := utf8.Valid(c.data)
		for r.next() {
			if r.blank() {
				continue
			}
			s.begin()
			if r.problem != "" {
				s.fail(r.problem)
				s.end()
				continue
			}
			for f.Columns == nil && !f.FromHeader && len(columns) < len(r.fields) && len(columns) <= maxSurveyColumns+1 {
				columns = append(columns, s.column("column_"+strconv.Itoa(len(columns)+1)))
			}
			s.row(r, columns, valid)
			s.end()
		}
		return nil
	})
}

// row surveys a record.
func (s *Surveyor) row(r *splitter, columns []*surveyed, valid bool) {
	for i := range r.fields {
		f := r.field(i)
		if len(f) == 0 {
			continue
		}
		if i >= len(columns) {
			s.extra.add(s, f)
			break
		}
		if !valid && !utf8.Valid(f) {
			s.broken(validUTF8(f))
		}
		s.field(columns[i], f)
	}
	if s.delimited.FromHeader && len(r.fields) < len(columns) {
		s.short.add(s, r.record)
	}
}

// field surveys a value.
func (s *Surveyor) field(c *surveyed, f []byte) {
	s.present(c)
	c.values.text = true
	if n, ok := numberOfField(f); ok {
		c.values.field(s, f, n)
		if c.watch.alive() || !c.watch.started || c.watch.format != nil {
			c.watch.number(s, bytes.Trim(f, " \t"), n.class)
		}
		return
	}
	kind := classText
	if c.wanted {
		kind = statedNumber(f)
	}
	c.values.of[kind].add(s, f)
	if c.watch.alive() || !c.watch.started || c.watch.format != nil {
		c.watch.text(s, f)
	}
	if !s.lists && bytes.IndexByte(f, 1) >= 0 {
		s.lists = true
	}
}

// header returns the columns of a file with names, and refuses names that say nothing or not what
// those of other files do.
func (s *Surveyor) header(names []string, head []byte) ([]*surveyed, error) {
	f, file := s.delimited, printable(s.file)
	if !f.FromHeader {
		return nil, nil
	}
	if names == nil {
		return nil, fault.InvalidInput("File [%s] has no row of names", file)
	}
	var out []*surveyed
	for _, name := range names {
		if !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError) {
			return nil, fault.InvalidInput("Column name [%s] in the first row of [%s] is not in UTF-8: convert the file, for example with "+
				"iconv -f latin1 -t utf-8", printable(name), file)
		}
	}
	if s.names == nil {
		s.names = names
	} else if s.o.Header == nil && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.names, n) }) {
		return nil, fault.InvalidInput("The first row of [%s] has none of the names that [%s] has: if it holds data, give the file a row of names; "+
			"if they are names, say --header=yes", file, printable(s.first))
	} else if s.o.Header == nil && !looksLikeHeader(f, head) {
		return nil, fault.InvalidInput("The first row of [%s] does not look like the names that [%s] has: if it holds data, give the file a row of "+
			"names; if they are names, say --header=yes", file, printable(s.first))
	}
	for _, name := range names {
		out = append(out, s.column(name))
	}
	return out, nil
}
