package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// Guess is what a file seems to hold: enough to write the EXTERN call and the time expression of an INSERT.
type Guess struct {
	// Format is the wire form of the input format.
	Format json.RawMessage
	// Columns are the columns in the order in which they first occur.
	Columns []GuessedColumn
	// Time is the column that holds the time of a row, TimeFormat how: "iso", "millis", "posix" or a Joda pattern. Both are "" when no
	// column does.
	Time, TimeFormat string
	// Rows are the records looked at, Bad those of them that did not parse.
	Rows, Bad int
	// Bytes is the unpacked text looked at; All says that it is the whole file.
	Bytes int64
	All   bool
}

// GuessedColumn is a column with its type in words of SQL: VARCHAR, BIGINT, DOUBLE, VARCHAR ARRAY, BIGINT ARRAY, DOUBLE ARRAY,
// TYPE('COMPLEX<json>').
type GuessedColumn struct {
	Name, SQLType string
}

// TimeSQL returns the SQL expression of __time, or "" without a time column.
func (g *Guess) TimeSQL() string {
	if g.Time == "" {
		return ""
	}
	column := `"` + strings.ReplaceAll(g.Time, `"`, `""`) + `"`
	switch g.TimeFormat {
	case "iso":
		return "TIME_PARSE(" + column + ")"
	case "millis":
		return "MILLIS_TO_TIMESTAMP(" + column + ")"
	case "posix":
		return "MILLIS_TO_TIMESTAMP(" + column + " * 1000)"
	}
	return "TIME_PARSE(" + column + ", '" + strings.ReplaceAll(g.TimeFormat, "'", "''") + "')"
}

// Sniff reads the start of a file, unpacking it by its content, and guesses its format, columns, types and time column. The name, which
// may be empty, only decides between csv and tsv where the content does not.
func Sniff(ctx context.Context, name string, r io.Reader) (*Guess, error) {
	unpacked, err := decompress(io.NopCloser(r), name)
	if err != nil {
		return nil, err
	}
	defer unpacked.Close()
	buf := make([]byte, sniffBytes)
	n, err := io.ReadFull(unpacked, buf)
	all := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !all {
		return nil, err
	}
	text := buf[:n]
	if err := refuseUTF16(text, name); err != nil {
		return nil, err
	}
	if text = trimBOM(text); len(bytes.TrimSpace(text)) == 0 {
		return nil, fault.InvalidInput("Input [%s] is empty", name)
	}
	var g *Guess
	if head := bytes.TrimLeft(text, " \t\r\n"); head[0] == '{' || head[0] == '[' {
		g, err = sniffJSON(ctx, text, all)
	} else {
		g, err = sniffDelimited(ctx, name, text, all)
	}
	if err != nil {
		return nil, err
	}
	if g.Rows == g.Bad || len(g.Columns) == 0 {
		return nil, fault.InvalidInput("Input [%s] is neither JSON, CSV nor TSV", name)
	}
	g.Bytes, g.All = int64(n), all
	return g, nil
}

// observed collects what was seen of a column.
type observed struct {
	name                           string
	longs, doubles, texts, objects int
	lists                          int // rows with lists of scalars; what the elements are is counted above
	samples                        []string
}

func (o *observed) text(s string) {
	if len(o.samples) < 200 {
		o.samples = append(o.samples, s)
	}
}

func (o *observed) sqlType() string {
	scalar := "VARCHAR"
	switch {
	case o.objects > 0:
		return "TYPE('COMPLEX<json>')"
	case o.texts > 0:
	case o.doubles > 0:
		scalar = "DOUBLE"
	case o.longs > 0:
		scalar = "BIGINT"
	}
	if o.lists > 0 {
		return scalar + " ARRAY"
	}
	return scalar
}

func sniffJSON(ctx context.Context, text []byte, all bool) (*Guess, error) {
	g := &Guess{Format: json.RawMessage(`{"type":"json"}`)}
	format := &JSON{}
	if !all {
		text = text[:format.begin(text).last(text)]
	}
	var order []*observed
	byName := map[string]*observed{}
	var parser fastjson.Parser
	for len(text) > 0 && g.Rows < sniffRows && ctx.Err() == nil {
		if c := text[0]; isJSONSpace(c) || c == ',' || c == ']' || c == '[' {
			text = text[1:]
			continue
		}
		g.Rows++
		end := valueEnd(text)
		line := bytes.IndexByte(text, '\n')
		if line < 0 {
			line = len(text)
		}
		if end < 0 {
			g.Bad++
			text = text[line:]
			continue
		}
		v, err := parser.ParseBytes(text[:end])
		text = text[end:]
		if err != nil || v.Type() != fastjson.TypeObject {
			g.Bad++
			continue
		}
		v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
			o := byName[string(key)]
			if o == nil {
				if len(order) >= maxGuessedColumns {
					return
				}
				o = &observed{name: string(key)}
				byName[o.name] = o
				order = append(order, o)
			}
			o.json(v)
		})
	}
	g.settle(order)
	return g, ctx.Err()
}

// maxGuessedColumns bounds what a guess lists; a table has at most 2,000 columns (TooManyColumns).
const maxGuessedColumns = 1999

func (o *observed) json(v *fastjson.Value) {
	switch v.Type() {
	case fastjson.TypeNumber:
		raw := v.MarshalTo(nil)
		if _, ok := parseInteger(raw); ok {
			o.longs++
		} else {
			o.doubles++
		}
		o.text(string(raw))
	case fastjson.TypeString:
		o.texts++
		o.text(string(v.GetStringBytes()))
	case fastjson.TypeTrue, fastjson.TypeFalse:
		o.texts++
		o.text("true")
	case fastjson.TypeObject:
		o.objects++
	case fastjson.TypeArray:
		o.lists++
		for _, e := range v.GetArray() {
			if e.Type() == fastjson.TypeArray {
				o.objects++
			} else {
				o.json(e)
			}
		}
	}
}

// delimiters are tried in this order; the first that splits the lines most evenly wins.
var delimiters = []string{",", "\t", ";", "|"}

func sniffDelimited(ctx context.Context, name string, text []byte, all bool) (*Guess, error) {
	if !all {
		text = text[:lineCutter{}.last(text)]
	}
	best, bestScore := ",", -1
	for _, d := range delimiters {
		if score := evenness(text, d); score > bestScore {
			best, bestScore = d, score
		}
	}
	base := strings.ToLower(name)
	for _, ext := range []string{".gz", ".zst", ".bz2"} {
		base = strings.TrimSuffix(base, ext)
	}
	if bestScore == 0 && strings.HasSuffix(base, ".tsv") {
		best = "\t"
	}
	csv := best == ","
	s := &splitter{text: validUTF8(text), delimiter: []byte(best), quotes: csv, line: 1}
	g := &Guess{}
	var order []*observed
	header := false
	for g.Rows < sniffRows && ctx.Err() == nil && s.next() {
		if s.blank() {
			continue
		}
		if order == nil {
			header = looksLikeHeader(s)
			for i := range min(len(s.fields), maxGuessedColumns) {
				o := &observed{name: "column_" + strconv.Itoa(i+1)}
				if header {
					o.name = strings.TrimSpace(string(s.field(i)))
				}
				order = append(order, o)
			}
			if header {
				continue
			}
		}
		g.Rows++
		if s.problem != "" {
			g.Bad++
			continue
		}
		for i := range min(len(s.fields), len(order)) {
			order[i].field(s.field(i))
		}
	}
	g.Format = delimitedFormat(best, header, order)
	g.settle(order)
	return g, ctx.Err()
}

// evenness counts how many of the first lines have as many delimiters, outside quotes, as the first one has.
func evenness(text []byte, delimiter string) int {
	s := &splitter{text: text, delimiter: []byte(delimiter), quotes: delimiter == ","}
	width, score := 0, 0
	for i := 0; i < 50 && s.next(); i++ {
		if width == 0 {
			width = len(s.fields)
		}
		if len(s.fields) == width && width > 1 {
			score += width
		}
	}
	return score
}

// looksLikeHeader reports whether fields are names: all there, all different, none a number or a time.
func looksLikeHeader(s *splitter) bool {
	seen := map[string]bool{}
	for i := range s.fields {
		text := strings.TrimSpace(string(s.field(i)))
		_, isNumber := parseText([]byte(text))
		if _, isTime := chrono.ParseISO(text); text == "" || isNumber || isTime || seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

func (o *observed) field(f []byte) {
	if len(f) == 0 {
		return
	}
	switch n, ok := parseText(f); {
	case !ok || leadingZero(f):
		o.texts++
	case n.integer:
		o.longs++
	default:
		o.doubles++
	}
	o.text(string(f))
}

// leadingZero tells codes (00123) from numbers: as numbers they would lose their zeros.
func leadingZero(f []byte) bool { return len(f) > 1 && f[0] == '0' && f[1] >= '0' && f[1] <= '9' }

func delimitedFormat(delimiter string, header bool, order []*observed) json.RawMessage {
	w := delimitedWire{Type: "csv"}
	if delimiter != "," {
		w.Type = "tsv"
		if delimiter != "\t" {
			w.Delimiter = &delimiter
		}
	}
	if header {
		w.FindColumnsFromHeader = &header
	} else {
		for _, o := range order {
			w.Columns = append(w.Columns, o.name)
		}
	}
	text, err := marshalPlain(w)
	if err != nil {
		return nil // strings, numbers and booleans always marshal
	}
	return text
}

// timeNames are names that time columns often have, most telling first.
var timeNames = []string{"__time", "timestamp", "time", "ts", "t", "datetime", "date_time", "event_time", "eventtime", "created_at", "createdat", "date"}

// settle fills in the columns and picks the time column: by name first, then by content.
func (g *Guess) settle(order []*observed) {
	type candidate struct {
		o      *observed
		format string
		rank   int
	}
	var found []candidate
	for _, o := range order {
		if o.name == "" {
			continue
		}
		g.Columns = append(g.Columns, GuessedColumn{Name: o.name, SQLType: o.sqlType()})
		rank := slices.Index(timeNames, strings.ToLower(o.name))
		if rank < 0 {
			rank = len(timeNames)
		}
		if format := o.timeFormat(rank < len(timeNames)); format != "" {
			found = append(found, candidate{o, format, rank})
		}
	}
	if len(found) == 0 {
		return
	}
	best := slices.MinFunc(found, func(a, b candidate) int { return a.rank - b.rank })
	g.Time, g.TimeFormat = best.o.name, best.format
}

// Bounds of numbers that are taken for times: 1990 to 2100, in seconds and in milliseconds.
const (
	earliestSecond, latestSecond = 631_152_000, 4_102_444_800
)

// timeFormat returns how the column's values are times, or "". Numbers are times only if the name says so too, as others look the same.
func (o *observed) timeFormat(named bool) string {
	if len(o.samples) == 0 || o.lists > 0 || o.objects > 0 {
		return ""
	}
	every := func(ok func(string) bool) bool {
		return !slices.ContainsFunc(o.samples, func(s string) bool { return !ok(s) })
	}
	between := func(lo, hi int64) func(string) bool {
		return func(s string) bool {
			n, ok := parseInteger([]byte(s))
			return ok && n >= lo && n <= hi
		}
	}
	switch {
	case o.texts == 0 && o.doubles == 0 && named && every(between(earliestSecond, latestSecond)):
		return "posix"
	case o.texts == 0 && o.doubles == 0 && named && every(between(earliestSecond*1000, latestSecond*1000)):
		return "millis"
	case o.texts > 0 && every(func(s string) bool {
		_, ok := chrono.ParseTimestamp(s, nil)
		return ok && len(s) >= len("2000-01-01")
	}):
		return "iso"
	}
	for _, text := range timePatterns {
		p, err := chrono.CompilePattern(text)
		if err == nil && every(func(s string) bool { _, ok := p.Parse(s, nil); return ok }) {
			return text
		}
	}
	return ""
}

// timePatterns are tried in this order on what is no ISO time: where month and day can't be told apart, the American order is meant.
var timePatterns = []string{
	"yyyy/MM/dd HH:mm:ss", "yyyy/MM/dd HH:mm", "yyyy/MM/dd", "MM/dd/yyyy HH:mm:ss", "MM/dd/yyyy HH:mm", "MM/dd/yyyy",
	"dd/MM/yyyy HH:mm:ss", "dd/MM/yyyy HH:mm", "dd/MM/yyyy", "dd.MM.yyyy HH:mm:ss", "dd.MM.yyyy HH:mm", "dd.MM.yyyy",
	"dd/MMM/yyyy:HH:mm:ss Z", "EEE, dd MMM yyyy HH:mm:ss Z", "EEE MMM dd HH:mm:ss yyyy",
}
