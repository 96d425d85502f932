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
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/record"
)

// delimiters are those that are looked for, and that win in this order where several divide every
// record alike: a comma may be within values, too, as in 1,50.
var delimiters = []string{"\t", ";", "|", ","}

// headerRows is how many records decide what the first row and the delimiter are.
const headerRows = 200

// delimitedFormat decides how delimited files are read by the start of the first one.
func (s *Surveyor) delimitedFormat(name string, head []byte) *Delimited {
	d := s.o.Delimiter
	said, head := separatorLine(head)
	if d == "" {
		d = said
	}
	if d == "" {
		d = s.findDelimiter(name, head)
	}
	f := &Delimited{kind: "csv", Delimiter: d, ListDelimiter: "\x01", SkipRows: btoi(said != "")}
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

// separatorLine returns the separator that the first line of a file of Excel names (sep=;), "" if
// there is no such line, and the text behind it.
func separatorLine(text []byte) (string, []byte) {
	line, rest, found := bytes.Cut(text, newline)
	line = bytes.Trim(bytes.TrimRight(line, "\r"), `"`)
	if name, value, ok := strings.Cut(string(line), "="); found && ok && strings.EqualFold(name, "sep") && len(value) == 1 {
		return value, rest
	}
	return "", text
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
	if _, ok := evidence.NumberOfField([]byte(value)); ok {
		return true
	}
	if _, ok := chrono.ParseTimestamp(value, nil); ok {
		return true
	}
	if value[0] >= '0' && value[0] <= '9' && strings.ContainsAny(value, "/.-:") {
		return slices.ContainsFunc(evidence.TextPatterns, func(p *chrono.Pattern) bool { return evidence.ReadTime(p, value) })
	}
	return false
}

// Fields surveys a delimited file.
func (s *Surveyor) fields(ctx context.Context, in *input, head []byte) error {
	f := s.delimited
	said, head := separatorLine(head)
	if (said != "") != (f.SkipRows > 0) {
		return fault.InvalidInput("The first line of one of the files [%s] and [%s] names the separator (sep=), that of the other does not; "+
			"load them one after the other", record.Printable(s.first), record.Printable(s.File))
	}
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
			if r.behind {
				s.behind.Add(&s.Position, r.record)
			}
			s.row(r, columns, valid)
			s.end()
		}
		return nil
	})
}

// Next surveys a record.
func (s *Surveyor) row(r *splitter, columns []*surveyed, valid bool) {
	for i := range r.fields {
		f := r.field(i)
		if len(f) == 0 {
			continue
		}
		if i >= len(columns) {
			s.extra.Add(&s.Position, f)
			break
		}
		if !valid && !utf8.Valid(f) {
			s.broken(record.ValidText(f))
		}
		s.field(columns[i], f)
	}
	if s.delimited.FromHeader && len(r.fields) < len(columns) {
		s.short.Add(&s.Position, r.record)
	}
}

// Field surveys a value.
func (s *Surveyor) field(c *surveyed, f []byte) {
	s.present(c)
	c.values.Text = true
	if n, ok := evidence.NumberOfField(f); ok {
		c.values.Field(&s.Position, f, n)
		if c.watch.Alive() || !c.watch.Started || c.watch.Format != nil {
			c.watch.Number(&s.Position, bytes.Trim(f, " \t"), n.Class)
		}
		return
	}
	kind := evidence.Text
	if c.wanted {
		kind = evidence.StatedNumber(f)
	}
	c.values.Of[kind].Add(&s.Position, f)
	if c.watch.Alive() || !c.watch.Started || c.watch.Format != nil {
		c.watch.Text(&s.Position, f)
	}
	if !s.lists && bytes.IndexByte(f, 1) >= 0 {
		s.lists = true
	}
}

// header returns the columns of a file with names, and refuses names that say nothing or not what
// those of other files do.
func (s *Surveyor) header(names []string, head []byte) ([]*surveyed, error) {
	f, file := s.delimited, record.Printable(s.File)
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
				"iconv -f latin1 -t utf-8", record.Printable(name), file)
		}
	}
	if s.names == nil {
		s.names = names
	} else if s.o.Header == nil && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.names, n) }) {
		return nil, fault.InvalidInput("The first row of [%s] has none of the names that [%s] has: if it holds data, give the file a row of names; "+
			"if they are names, say --header=yes", file, record.Printable(s.first))
	} else if s.o.Header == nil && !looksLikeHeader(f, head) {
		return nil, fault.InvalidInput("The first row of [%s] does not look like the names that [%s] has: if it holds data, give the file a row of "+
			"names; if they are names, say --header=yes", file, record.Printable(s.first))
	}
	for _, name := range names {
		out = append(out, s.column(name))
	}
	return out, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
