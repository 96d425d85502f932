package ingest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Survey is what a whole input was found to hold: enough to write the EXTERN call and the time
// expression of a load that changes nothing, and to say what no table can hold as it is.
type Survey struct {
	// Kind is the kind of the files in words; Format is the wire form of the input format.
	Kind   string
	Format json.RawMessage
	// Columns are in the order in which they first occur.
	Columns []SurveyColumn
	// Time is the column of the time, "" if there is none; TimeFormat how it holds it: "iso",
	// "millis", "posix", "micro", "nano" or a pattern.
	Time, TimeFormat string
	// OtherFormat is another way in which all values of Time are times; "": there is none, what is
	// said of the time is no guess.
	OtherFormat string
	// KeepTime says that the time has more digits than a timestamp keeps, so that the column must be
	// loaded, too.
	KeepTime bool
	// Untimed are the records whose time is missing or none.
	Untimed Finding
	// Records are all records, Bad those of them that did not parse; its Value is why.
	Records int64
	Bad     Finding
	// Problems are what can't be loaded without a change, in sentences; Notes are what else is worth
	// to be known.
	Problems, Notes []string
	// Header says that the first row of each delimited file holds the names.
	Header bool
}

// SurveyColumn is a column with its type in words of SQL.
type SurveyColumn struct {
	Name, SQLType string
	// Misfits are the values that the type, which the user gave, can't hold.
	Misfits Finding
	// Numbers are the values that are numbers, if the type is one of numbers.
	Numbers int64
}

// timeNames are names that time columns often have, most telling first.
var timeNames = []string{"__time", "timestamp", "time", "ts", "t", "datetime", "date_time", "event_time", "eventtime", "created_at", "createdat", "date"}

// Result ends the survey.
func (s *Surveyor) Result() (*Survey, error) {
	r := &Survey{Kind: s.kind.words(), Records: s.records, Bad: s.bad, Notes: s.notes}
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
			return nil, fault.InvalidInput("Column [%s], whose type is given, is not in the files; their columns are %s", printable(name), s.columnNames())
		}
	}
	if s.bad.Count == s.records && s.records > 0 {
		return nil, fault.InvalidInput("None of the records of %s can be read: %s", s.kind.words(), s.bad.At())
	}
	for _, c := range s.columns {
		r.Columns = append(r.Columns, s.settle(r, c))
	}
	if len(r.Columns) == 0 {
		return nil, fault.InvalidInput("File [%s] has no columns", printable(s.first))
	}
	if err := s.chooseTime(r); err != nil {
		return nil, err
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
	w := delimitedWire{}
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
	return "CSV with [" + printable(f.Delimiter) + "] between fields"
}

// settle chooses the type of a column.
func (s *Surveyor) settle(r *Survey, c *surveyed) SurveyColumn {
	out := SurveyColumn{Name: c.name, SQLType: c.values.sqlType()}
	if c.declared != "" {
		out.SQLType = c.declared
		if c.declared == typeLong && c.values.scalars() > 0 && c.values.of[classHuge].Count > 0 {
			out.SQLType = typeText
		}
	}
	name := printable(c.name)
	if t := s.o.Types[c.name]; t != "" {
		out.SQLType = t
		out.Misfits = c.values.misfits(t)
	} else {
		s.tellOfText(r, c, out.SQLType)
	}
	if f := c.values.rounded(out.SQLType); f.Count > 0 && c.declared == "" {
		r.Problems = append(r.Problems, fmt.Sprintf("%s of %q more digits than DOUBLE keeps, and would be rounded; %s", have(f.Count, "number"), name, f.At()))
	}
	if out.Misfits.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s of %q did not fit %s; %s", numbered(out.Misfits.Count, "value"), name, out.SQLType, out.Misfits.At()))
	}
	if numeric(out.SQLType) && c.values.text || s.kind == kindJSON && numeric(out.SQLType) {
		out.Numbers = c.seen - out.Misfits.Count
	}
	return out
}

// tellOfText says why a column that is mostly numbers is loaded as text.
func (s *Surveyor) tellOfText(r *Survey, c *surveyed, sqlType string) {
	v, name := &c.values, printable(c.name)
	switch {
	case sqlType != typeText || v.numbers() == 0:
	case v.of[classText].Count == 0 && v.of[classBool].Count == 0 && v.of[classHuge].Count+v.of[classFine].Count > 0:
		f := v.sum(classHuge, classFine)
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: %s more digits than a number keeps; %s.", name, have(f.Count, "value"), f.At()))
	case v.of[classText].Count == 0 && v.codes():
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: its fractions differ in length and zeros at their end seem to count, "+
			"as in versions; %s. If they are numbers, say --column '%s=DOUBLE'.", name, v.padded.At(), name))
	case v.of[classText].Count == 0 && v.of[classBool].Count == 0:
		f := v.sum(classLong)
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: beside fractions it has whole numbers that DOUBLE does not hold; %s.", name, f.At()))
	case v.numbers() >= v.of[classText].Count+v.of[classBool].Count:
		f := v.sum(classText, classBool)
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is loaded as text: %s of %s not written as a number; %s.", name, numbered(f.Count, "value"),
			are(v.scalars()), f.At()))
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
	if f := r.Untimed; f.Count > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s no time in %q as %s; %s", have(f.Count, "record"), printable(r.Time), r.TimeFormat, f.At()))
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
	case s.timeFormat != nil && w.format != nil:
		r.TimeFormat, r.Untimed = s.timeFormat.name, w.unfit
	case s.timeFormat != nil:
		r.TimeFormat = s.timeFormat.name
	case c.timed != "":
		r.TimeFormat = c.timed
	default:
		if r.TimeFormat, r.OtherFormat = w.way(true); r.TimeFormat == "" {
			return s.noTime(c)
		}
	}
	r.Time = c.name
	if missing := s.records - s.bad.Count - c.seen; missing > 0 {
		f := Finding{Count: missing, File: s.first, Record: max(c.gap, 1)}
		if c.gap == 0 {
			f.Record = c.next + 1
		}
		r.Untimed = earliest(r.Untimed, f)
	}
	r.KeepTime = w.fine.Count > 0 && c.name != "__time" && (r.TimeFormat == "iso" || r.TimeFormat == "posix" || r.TimeFormat == "micro" || r.TimeFormat == "nano")
	switch f := w.fine; {
	case r.KeepTime:
		r.Notes = append(r.Notes, fmt.Sprintf("%s more digits than milliseconds: __time is cut to them, and column %q keeps the values as they are; %s.",
			have(f.Count, "time"), printable(c.name), f.At()))
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
			return nil, fault.InvalidInput("Time column [%s] is not in the file; its columns are %s", printable(s.o.Time), s.columnNames())
		}
		c := s.columns[at]
		if c.seen == 0 && c.declared != "" && c.values.scalars() == 0 && s.records > 0 && c.timed == "" {
			return nil, fault.InvalidInput("Time column [%s] is of type %s, which holds no times", printable(c.name), c.declared)
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
		if c.values.objects.Count+c.values.lists.Count > 0 || c.seen == 0 {
			continue
		}
		format, _ := c.watch.way(named)
		if c.timed == "" && format == "" {
			if named && rank < 7 && c.watch.other.Count > 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("Column %q is not taken for the time: not all values are times; %s.", printable(c.name), c.watch.other.At()))
			}
			continue
		}
		if c.seen < s.records-s.bad.Count {
			rank += 1000 // some records would have no time
		}
		if best == nil || rank < bestRank {
			best, bestRank = c, rank
		}
	}
	if bestRank >= 1000 && best != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("Column %q is not taken for the time: some records have no value in it.", printable(best.name)))
		best = nil
	}
	if best == nil && s.o.TimeFormat != "" {
		return nil, fault.InvalidInput("No column looks like a time, so --time-format needs --time. The columns are %s", s.columnNames())
	}
	return best, nil
}

// noTime is the refusal of a column that the user named and whose values are no times.
func (s *Surveyor) noTime(c *surveyed) error {
	what := "it has no values"
	if f := c.watch.other; f.Count > 0 {
		what = f.At()
	} else if c.values.lists.Count+c.values.objects.Count > 0 {
		what = "it holds lists or objects"
	}
	return fault.InvalidInput("Column [%s] can't be read as a time: its values are not all ISO 8601, a known pattern or a number that is a time since 1990; %s. "+
		"Say how it holds the time with --time-format: iso, posix (seconds), millis, micro, nano or a pattern such as dd.MM.yy HH:mm or yyyyMMdd",
		printable(c.name), what)
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
		b.WriteString("[" + printable(c.name) + "]")
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
