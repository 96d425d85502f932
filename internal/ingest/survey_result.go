package ingest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Survey is the result of reading a whole input. It contains what is needed to write the EXTERN
// call and the time expression of a load that changes no value, and names the values that no table
// can store unchanged.
type Survey struct {
	// Kind describes the kind of the files in words. Format is the JSON form of the input format.
	Kind   string
	Format json.RawMessage
	// Columns are in the order of their first occurrence.
	Columns []SurveyColumn
	// Time is the time column, "" if there is none. TimeFormat is its format: "iso", "millis",
	// "posix", "micro", "nano" or a pattern.
	Time, TimeFormat string
	// OtherFormat is another format with which all values of Time can be parsed; "": there is none,
	// and TimeFormat is unambiguous.
	OtherFormat string
	// KeepTime says that the time has a higher precision than a timestamp, so that the column must be
	// loaded as well.
	KeepTime bool
	// Untimed are the records whose time is missing or invalid.
	Untimed evidence.Finding
	// Records is the number of all records. Bad are the records that could not be parsed; its Value is
	// the reason.
	Records int64
	Bad     evidence.Finding
	// Problems describe, in sentences, the values that can't be loaded unchanged. Notes contain other
	// information for the user.
	Problems, Notes []string
	// Header says that the first row of each delimited file contains the column names.
	Header bool
}

// SurveyColumn is a column with the name of its SQL type.
type SurveyColumn struct {
	Name, SQLType string
	// Misfits are the values that the type given by the user can't represent.
	Misfits evidence.Finding
	// Numbers is the number of values that are numbers, if the type is numeric.
	Numbers int64
	// Times is the format with which all values are unambiguously times that TIMESTAMP stores without
	// loss: "iso", "millis" or a pattern; "": there is no such format.
	Times string
}

// timeNames are names that time columns often have, most telling first.
var timeNames = []string{"__time", "timestamp", "time", "ts", "t", "datetime", "date_time", "event_time", "eventtime", "created_at", "createdat", "date"}

// Result ends the survey and returns its result.
func (s *Surveyor) Result() (*Survey, error) {
	r := &Survey{Kind: s.kind.words(), Records: s.Records, Bad: s.bad, Notes: s.notes}
	if s.delimited != nil {
		r.Header = s.delimited.FromHeader
		r.Kind = s.settleDelimited()
	}
	var err error
	if r.Format, err = s.marshalFormat(); err != nil {
		return nil, err
	}
	for _, name := range sortedNames(s.o.Types) {
		if _, ok := s.index[name]; !ok {
			return nil, fault.InvalidInput("Column [%s], whose type is given, is not in the files; their columns are %s", record.Printable(name), s.columnNames())
		}
	}
	if s.bad.Count == s.Records && s.Records > 0 {
		return nil, fault.InvalidInput("No record of %s can be read: %s", s.kind.words(), s.bad.At())
	}
	for _, c := range s.columns {
		r.Columns = append(r.Columns, s.settle(r, c))
	}
	if len(r.Columns) == 0 {
		return nil, fault.InvalidInput("File [%s] has no columns", record.Printable(s.first))
	}
	if !s.o.NoTime {
		if err := s.chooseTime(r); err != nil {
			return nil, err
		}
	}
	s.tell(r)
	return r, nil
}

func sortedNames(m map[string]string) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// settleDelimited fills in the format and returns what it is in words.
func (s *Surveyor) settleDelimited() string {
	f := s.delimited
	w := delimitedWire{SkipHeaderRows: f.SkipRows}
	if f.FromHeader {
		yes := true
		w.FindColumnsFromHeader = &yes
	} else {
		for _, c := range s.columns {
			w.Columns = append(w.Columns, c.name)
		}
	}
	if f.kind == "csv" && f.Delimiter != "," || f.kind == "tsv" && f.Delimiter != "\t" {
		w.Delimiter = &f.Delimiter
	}
	if s.lists { // the character that would divide values into lists is one of the values
		none := ""
		w.ListDelimiter = &none
	}
	f.wire = w
	switch {
	case f.kind == "tsv" && f.Delimiter == "\t":
		return "TSV"
	case f.Delimiter == ",":
		return "CSV"
	case f.Delimiter == "\t":
		return "CSV with tabs"
	}
	return "CSV with [" + record.Printable(f.Delimiter) + "] between fields"
}

// settle chooses the type of a column.
func (s *Surveyor) settle(r *Survey, c *surveyed) SurveyColumn {
	out := SurveyColumn{Name: c.name, SQLType: c.values.SqlType()}
	if c.declared != "" {
		out.SQLType = c.declared
		if c.declared == evidence.TypeLong && c.values.Scalars() > 0 && c.values.Of[evidence.Huge].Count > 0 {
			out.SQLType = evidence.TypeText
		}
	}
	name := record.Printable(c.name)
	if t := s.o.Types[c.name]; t != "" {
		out.SQLType = t
		out.Misfits = c.values.Misfits(t)
	} else {
		s.tellOfText(r, c, out.SQLType)
		out.Times = c.times(out.SQLType)
	}
	if f := c.values.Rounded(out.SQLType); f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s of %q %s more digits than DOUBLE keeps, and would be rounded; %s",
			numbered(f.Count, "number"), name, hasHave(f.Count), f.At()))
	}
	if out.Misfits.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s of %q did not fit %s; %s", numbered(out.Misfits.Count, "value"), name, out.SQLType, out.Misfits.At()))
	}
	if numeric(out.SQLType) && c.values.Text || s.kind == kindJSON && numeric(out.SQLType) {
		out.Numbers = c.seen - out.Misfits.Count
	}
	return out
}

// times returns how all values of a column of a type are times; "" where they are not, or may be
// meant otherwise, or have more digits than a timestamp keeps.
func (c *surveyed) times(sqlType string) string {
	switch {
	case c.timed != "":
		return c.timed
	case sqlType != evidence.TypeText || c.declared != "" || c.watch.Fine.Count > 0 || c.values.Numbers() > 0:
		return ""
	}
	format, other := c.watch.Way(false)
	if other != "" {
		return ""
	}
	return format
}

// tellOfText says why a column that is mostly numbers is loaded as text.
func (s *Surveyor) tellOfText(r *Survey, c *surveyed, sqlType string) {
	v, name := &c.values, record.Printable(c.name)
	switch {
	case sqlType != evidence.TypeText || v.Numbers() == 0:
	case v.Of[evidence.Text].Count == 0 && v.Of[evidence.Bool].Count == 0 && v.Of[evidence.Huge].Count+v.Of[evidence.Fine].Count > 0:
		f := v.Sum(evidence.Huge, evidence.Fine)
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: %s more digits than a number keeps; %s.", name, have(f.Count, "value"), f.At()))
	case v.Of[evidence.Text].Count == 0 && v.Codes():
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: its fractions differ in length and zeros at their end seem to count, "+
			"as in versions; %s. If they are numbers, say --column '%s=DOUBLE'.", name, v.Padded.At(), name))
	case v.Of[evidence.Text].Count == 0 && v.Of[evidence.Bool].Count == 0:
		f := v.Sum(evidence.Long)
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: beside fractions it has integers that DOUBLE cannot "+
			"represent; %s.", name, f.At()))
	case v.Numbers() >= v.Of[evidence.Text].Count+v.Of[evidence.Bool].Count:
		f := v.Sum(evidence.Text, evidence.Bool)
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: %s of %s not written as a number; %s.", name, numbered(f.Count, "value"),
			are(v.Scalars()), f.At()))
	}
}

// tell adds what is wrong with records.
func (s *Surveyor) tell(r *Survey) {
	if f := s.extra; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s more fields than there are names, and the fields beyond would be left out; %s", have(f.Count, "record"), f.At()))
	}
	if f := s.notUTF8; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s not in UTF-8, and bytes would become U+FFFD (convert the file, for example with "+
			"iconv -f latin1 -t utf-8); %s", areOf(f.Count, "value"), f.At()))
	}
	if f := s.repeated; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s a member twice, of which the last would count; %s", have2(f.Count, "record", "names", "name"), f.At()))
	}
	if f := s.unnamed; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s a member with an empty name, which no column can have; %s", have(f.Count, "record"), f.At()))
	}
	if f := s.behind; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s text behind a closing quote, so that the quotes seem to mean something else "+
			"(quotes within quotes are doubled, not marked by a backslash); %s", have(f.Count, "record"), f.At()))
	}
	if f := s.halves; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s an escape of half a character (a lone surrogate), which no text can hold; %s",
			have(f.Count, "record"), f.At()))
	}
	if f := s.deepNonNumbers; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s NaN or infinite within an object or a list, and would become text; %s",
			areOf(f.Count, "number"), f.At()))
	}
	if evidence.HasShortYear(r.TimeFormat) && s.timeFormat == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("Years of %q have two digits, which are read as 1946 to 2045.", record.Printable(r.Time)))
	}
	if f := r.Untimed; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s no time in %q as %s; %s", have(f.Count, "record"), record.Printable(r.Time), r.TimeFormat, f.At()))
	}
	if f := s.short; f.Count > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s fewer fields than there are names; what is missing is NULL; %s.", have(f.Count, "record"), f.At()))
	}
}

// chooseTime picks the time column: what the user named, else by name first, then by content.
func (s *Surveyor) chooseTime(r *Survey) error {
	c, err := s.timeColumn(r)
	if c == nil || err != nil {
		return err
	}
	w := &c.watch
	switch {
	case s.timeFormat != nil && w.Format != nil:
		r.TimeFormat, r.Untimed = s.timeFormat.Name, w.Unfit
	case s.timeFormat != nil:
		r.TimeFormat = s.timeFormat.Name
	case c.timed != "":
		r.TimeFormat = c.timed
	default:
		if r.TimeFormat, r.OtherFormat = w.Way(true); r.TimeFormat == "" {
			return s.noTime(c)
		}
	}
	r.Time = c.name
	if missing := s.Records - s.bad.Count - c.seen; missing > 0 {
		f := evidence.Finding{Count: missing, File: s.first, Record: max(c.gap, 1)}
		if c.gap == 0 {
			f.Record = c.next + 1
		}
		r.Untimed = evidence.Earliest(r.Untimed, f)
	}
	r.KeepTime = w.Fine.Count > 0 && c.name != "__time" && (r.TimeFormat == "iso" || r.TimeFormat == "posix" || r.TimeFormat == "micro" || r.TimeFormat == "nano")
	switch f := w.Fine; {
	case r.KeepTime:
		r.Notes = append(r.Notes, fmt.Sprintf("%s more digits than milliseconds: __time is cut to them, and column %q keeps the values as they are; %s.",
			have(f.Count, "time"), record.Printable(c.name), f.At()))
	case f.Count > 0 && c.name == "__time" && r.TimeFormat != "millis":
		r.Problems = append(r.Problems, fmt.Sprintf("%s more digits than milliseconds, and would be cut; %s", have(f.Count, "time"), f.At()))
	}
	return nil
}

// timeColumn returns the column of the time, nil if there is none.
func (s *Surveyor) timeColumn(r *Survey) (*surveyed, error) {
	if s.o.Time != "" {
		at, ok := s.index[s.o.Time]
		if !ok {
			return nil, fault.InvalidInput("Time column [%s] is not in the file; its columns are %s", record.Printable(s.o.Time), s.columnNames())
		}
		c := s.columns[at]
		if c.seen == 0 && c.declared != "" && c.values.Scalars() == 0 && s.Records > 0 && c.timed == "" {
			return nil, fault.InvalidInput("Time column [%s] is of type %s, which cannot contain times", record.Printable(c.name), c.declared)
		}
		return c, nil
	}
	var best *surveyed
	bestRank := 0
	for _, c := range s.columns {
		rank := slices.Index(timeNames, strings.ToLower(c.name))
		named := rank >= 0
		if !named {
			rank = len(timeNames)
		}
		if c.values.Objects.Count+c.values.Lists.Count > 0 || c.seen == 0 {
			continue
		}
		format, _ := c.watch.Way(named)
		if c.timed == "" && format == "" {
			if named && rank < 7 && c.watch.Other.Count > 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("Column %q is not taken for the time: not all values are times; %s.", record.Printable(c.name), c.watch.Other.At()))
			}
			continue
		}
		if c.seen < s.Records-s.bad.Count {
			rank += 1000 // some records would have no time
		}
		if best == nil || rank < bestRank {
			best, bestRank = c, rank
		}
	}
	if bestRank >= 1000 && best != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is not taken for the time: some records have no value in it.", record.Printable(best.name)))
		best = nil
	}
	if best == nil && s.o.TimeFormat != "" {
		return nil, fault.InvalidInput("No time column was found, so --time-format needs --time. The columns are %s", s.columnNames())
	}
	return best, nil
}

// noTime is the refusal of a column that the user named and whose values are no times.
func (s *Surveyor) noTime(c *surveyed) error {
	what := "it has no values"
	if f := c.watch.Other; f.Count > 0 {
		what = f.At()
	} else if c.values.Lists.Count+c.values.Objects.Count > 0 {
		what = "it contains lists or objects"
	}
	return fault.InvalidInput("Column [%s] can't be read as a time: its values are not all ISO 8601, a known pattern or a number that is a time since 1990; %s. "+
		"Set its format with --time-format: iso, posix (seconds), millis, micro, nano or a pattern such as dd.MM.yy HH:mm or yyyyMMdd",
		record.Printable(c.name), what)
}

// columnNames lists the columns.
func (s *Surveyor) columnNames() string {
	var b strings.Builder
	for i, c := range s.columns {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(s.columns)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("[" + record.Printable(c.name) + "]")
	}
	return b.String()
}

// maxListed is how many names a message lists.
const maxListed = 50

// numbered writes a number with its noun.
func numbered(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func hasHave(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func have(n int64, noun string) string { return have2(n, noun, "has", "have") }

func have2(n int64, noun, one, many string) string {
	if n == 1 {
		return numbered(n, noun) + " " + one
	}
	return numbered(n, noun) + " " + many
}

func areOf(n int64, noun string) string { return have2(n, noun, "is", "are") }

func are(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}
