package slt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fixture"
)

// Script is a parsed script file.
type Script struct {
	Path    string
	Records []Record

	lines []string
}

// Record is a *Load, *Tombstone, *Lookup or *Statement.
type Record interface{ line() int }

// Load puts rows into segments of a datasource.
type Load struct {
	Line       int
	DataSource string
	Version    string
	// Interval is where the rows belong; zero: the least whole milliseconds that hold them.
	Interval chrono.Interval
	// Granularity, if not nil, has the buckets into which the rows are cut.
	Granularity *chrono.Granularity
	// Partition is the number of the segment in its chunk and Core how many the chunk needs, 0: any.
	Partition, Core int
	Table           fixture.Table
}

// Tombstone hides older versions.
type Tombstone struct {
	Line       int
	DataSource string
	Version    string
	Interval   chrono.Interval
}

// Lookup makes a lookup, or another version of one.
type Lookup struct {
	Line   int
	Name   string
	Values map[string]string
}

// Statement is a SQL statement with what is expected of it: rows, or an error.
type Statement struct {
	Line    int
	SQL     string
	Context map[string]any
	Params  []Param

	// Types has a Letter per column. Sorted says that the order of rows means nothing, Header that the
	// first row is the column names.
	Types          string
	Sorted, Header bool
	Want           []string

	// Err is what is expected instead of rows.
	Err *WantError

	skips []skip
	end   int // the line behind the record
}

// Param is a value for a ?.
type Param struct {
	Type  string
	Value json.RawMessage
}

// WantError is an expected failure.
type WantError struct {
	Category fault.Category
	// Text is a part of the message, or between slashes a regular expression.
	Text string
}

// skip says why a statement is not expected to pass, under the configs named or all.
type skip struct {
	configs []string
	reason  string
}

func (r *Load) line() int      { return r.Line }
func (r *Tombstone) line() int { return r.Line }
func (r *Lookup) line() int    { return r.Line }
func (r *Statement) line() int { return r.Line }

// Parse reads the script at path and the files it names.
func Parse(path string) (*Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &parser{script: &Script{Path: path, lines: strings.Split(string(text), "\n")}}
	if err := p.run(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, p.at, err)
	}
	return p.script, nil
}

// parser is at line number at (from 1); next is the one behind it.
type parser struct {
	script  *Script
	at      int
	context map[string]any
	params  []Param
	skips   []skip
}

// block returns the lines up to the next empty one.
func (p *parser) block() []string {
	start := p.at
	for p.at < len(p.script.lines) && strings.TrimSpace(p.script.lines[p.at]) != "" {
		p.at++
	}
	return p.script.lines[start:p.at]
}

func (p *parser) run() error {
	for p.at < len(p.script.lines) {
		text := p.script.lines[p.at]
		p.at++
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		word, rest, _ := strings.Cut(text, " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch word {
		case "load":
			err = p.load(rest)
		case "tombstone":
			err = p.tombstone(rest)
		case "lookup":
			err = p.lookup(rest)
		case "context":
			err = p.setContext(rest)
		case "param":
			err = p.param(rest)
		case "skip":
			err = p.skip(rest)
		case "query":
			err = p.query(rest)
		case "error":
			err = p.wantError(rest)
		default:
			err = fmt.Errorf("unknown directive %q", word)
		}
		if err != nil {
			return err
		}
	}
	if len(p.skips)+len(p.params) > 0 {
		return fmt.Errorf("skip or param without a statement")
	}
	return nil
}

// options splits "name a=1 b=2".
func options(rest string, known ...string) (name string, values map[string]string, err error) {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return "", nil, fmt.Errorf("want the name of a datasource")
	}
	values = map[string]string{}
	for _, w := range words[1:] {
		k, v, ok := strings.Cut(w, "=")
		found := false
		for _, n := range known {
			found = found || n == k
		}
		if !ok || !found {
			return "", nil, fmt.Errorf("unknown option %q", w)
		}
		values[k] = v
	}
	return words[0], values, nil
}

func (p *parser) load(rest string) error {
	l := &Load{Line: p.at, Version: "1"}
	name, o, err := options(rest, "version", "interval", "granularity", "partition", "core", "rows")
	if err != nil {
		return err
	}
	l.DataSource = name
	if text, ok := o["granularity"]; ok {
		g, err := chrono.ParseGranularity(text)
		if err != nil {
			return err
		}
		l.Granularity = &g
	}
	if v, ok := o["version"]; ok {
		l.Version = v
	}
	if text, ok := o["interval"]; ok {
		if l.Interval, err = chrono.ParseInterval(text); err != nil {
			return err
		}
	}
	for key, to := range map[string]*int{"partition": &l.Partition, "core": &l.Core} {
		if text, ok := o[key]; ok {
			if *to, err = strconv.Atoi(text); err != nil {
				return err
			}
		}
	}
	rows := p.block()
	if len(rows) == 0 {
		return fmt.Errorf("a load needs columns")
	}
	if l.Table.Columns, err = fixture.ParseColumns(rows[0]); err != nil {
		return err
	}
	rows = rows[1:]
	if file, ok := o["rows"]; ok {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(p.script.Path), file))
		if err != nil {
			return err
		}
		rows = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	for _, row := range rows {
		if err := l.Table.Add(row); err != nil {
			return fmt.Errorf("%w in the row %s", err, row)
		}
	}
	p.script.Records = append(p.script.Records, l)
	return nil
}

func (p *parser) tombstone(rest string) error {
	name, o, err := options(rest, "version", "interval")
	if err != nil {
		return err
	}
	iv, err := chrono.ParseInterval(o["interval"])
	if err != nil {
		return err
	}
	p.script.Records = append(p.script.Records, &Tombstone{Line: p.at, DataSource: name, Version: o["version"], Interval: iv})
	return nil
}

func (p *parser) lookup(rest string) error {
	name, values, _ := strings.Cut(rest, " ")
	l := &Lookup{Line: p.at, Name: name}
	if err := json.Unmarshal([]byte(values), &l.Values); err != nil {
		return fmt.Errorf("want lookup NAME {\"key\":\"value\"}: %w", err)
	}
	p.script.Records = append(p.script.Records, l)
	return nil
}

func (p *parser) setContext(rest string) error {
	p.context = nil
	for w := range strings.FieldsSeq(rest) {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("want key=value, got %q", w)
		}
		if p.context == nil {
			p.context = map[string]any{}
		}
		var value any = v
		if json.Valid([]byte(v)) {
			var decoded any
			dec := json.NewDecoder(strings.NewReader(v))
			dec.UseNumber()
			if err := dec.Decode(&decoded); err != nil {
				return err
			}
			value = decoded
		}
		p.context[k] = value
	}
	return nil
}

func (p *parser) param(rest string) error {
	name, value, ok := strings.Cut(rest, " ")
	if !ok || !json.Valid([]byte(value)) {
		return fmt.Errorf("want a type and a JSON value")
	}
	p.params = append(p.params, Param{Type: name, Value: json.RawMessage(value)})
	return nil
}

func (p *parser) skip(rest string) error {
	s := skip{reason: rest}
	if list, ok := strings.CutPrefix(rest, "if="); ok {
		names, reason, _ := strings.Cut(list, " ")
		s = skip{configs: strings.Split(names, ","), reason: strings.TrimSpace(reason)}
	}
	if s.reason == "" {
		return fmt.Errorf("a skip needs a reason")
	}
	p.skips = append(p.skips, s)
	return nil
}

// statement takes what stands before and below a query or error line.
func (p *parser) statement(s *Statement) (want []string, err error) {
	s.Line = p.at
	lines := p.block()
	s.end = p.at
	sql := lines
	for i, l := range lines {
		if l == "----" {
			sql, want = lines[:i], lines[i+1:]
			break
		}
	}
	if len(sql) == 0 {
		return nil, fmt.Errorf("want a statement")
	}
	s.SQL = strings.Join(sql, "\n")
	s.Context, s.Params, s.skips = p.context, p.params, p.skips
	p.params, p.skips = nil, nil
	p.script.Records = append(p.script.Records, s)
	return want, nil
}

func (p *parser) query(rest string) error {
	s := &Statement{}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return fmt.Errorf("want a letter per column")
	}
	s.Types = words[0]
	for _, w := range words[1:] {
		switch w {
		case "nosort":
		case "rowsort":
			s.Sorted = true
		case "header":
			s.Header = true
		default:
			return fmt.Errorf("unknown mode %q", w)
		}
	}
	want, err := p.statement(s)
	s.Want = want
	return err
}

// categories that may stand before the text of an expected error.
var categories = []fault.Category{fault.CategoryUnsupported, fault.CategoryRuntimeFailure, fault.CategoryNotFound, fault.CategoryTimeout,
	fault.CategoryForbidden, fault.CategoryCapacityExceeded, fault.CategoryCanceled}

func (p *parser) wantError(rest string) error {
	s := &Statement{Err: &WantError{Category: fault.CategoryInvalidInput, Text: rest}}
	for _, c := range categories {
		if text, ok := strings.CutPrefix(rest, string(c)+":"); ok {
			s.Err.Category, s.Err.Text = c, strings.TrimSpace(text)
		}
	}
	want, err := p.statement(s)
	if err == nil && want != nil {
		err = fmt.Errorf("an error has no rows")
	}
	return err
}
