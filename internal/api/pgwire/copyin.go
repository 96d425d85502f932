package pgwire

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// copyIn is a COPY FROM that runs: it makes lines of JSON of what the client sends.
type copyIn struct {
	c      *session
	t      *target
	format *copyFormat
	lines  []byte
	rows   int
	// skipped are rows with values that can't be read.
	skipped int
	// rest is what was sent and is no whole record yet; seen is how much of it was looked at, and
	// quoted says that it ends within quotes.
	rest   []byte
	seen   int
	quoted bool
	ended  bool // behind the end mark: the rest is passed over
	begun  bool // behind the header
	line   int  // of the record that is read, from 1
	values []any
}

// copyFrom runs COPY .. FROM STDIN and returns how many rows it has added.
func (c *session) copyFrom(k *pg.Copy, p *planned) (int64, error) {
	if k.Where != "stdin" {
		return 0, failure("42501", "COPY reads from STDIN only").withHint("psql's \\copy reads a file of the client.")
	}
	f, err := copyFormatOf(k.Options)
	if err == nil {
		err = c.mayChange("COPY FROM")
	}
	if err == nil {
		err = c.mayWrite(p.target.table)
	}
	if err != nil {
		return 0, err
	}
	m := &pgproto3.CopyInResponse{ColumnFormatCodes: make([]uint16, len(p.target.columns))}
	if f.kind == "binary" {
		m.OverallFormat = 1
		for i := range m.ColumnFormatCodes {
			m.ColumnFormatCodes[i] = 1
		}
	}
	c.send(m)
	in := &copyIn{c: c, t: p.target, format: f, line: 1, values: make([]any, len(p.target.columns))}
	if err := c.receiveCopy(p.source, in); err != nil {
		return 0, err
	}
	if in.skipped > 0 {
		c.send(&pgproto3.NoticeResponse{Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000",
			Message: strconv.Itoa(in.skipped) + " rows were skipped due to data type incompatibility"})
	}
	return int64(in.rows), c.write(p.target, in.lines, in.rows)
}

// receiveCopy reads what the client sends up to its end. A wrong row ends it at once; what the
// client sends behind it is passed over as the protocol has it.
func (c *session) receiveCopy(text string, in *copyIn) error {
	ctx, cancel, err := c.runContext(c.settings.context())
	if err != nil {
		return err
	}
	defer cancel(nil)
	c.mu.Lock()
	c.mu.cancel, c.mu.text, c.mu.since = cancel, text, c.server.o.Clock.Now()
	c.mu.Unlock()
	awake := atEnd(ctx, func() { _ = c.conn.SetReadDeadline(past) }) // a connection that can't is closed
	err = func() error {
		for {
			if err := c.flush(); err != nil {
				return fatal{err}
			}
			if idle := c.server.o.IdleTimeout; idle > 0 {
				_ = c.conn.SetReadDeadline(clock.Deadline(idle)) // likewise
			}
			if ctx.Err() != nil {
				return query.Cause(ctx, context.Cause(ctx))
			}
			m, err := c.backend.Receive()
			if err != nil {
				if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
					return query.Cause(ctx, context.Cause(ctx))
				}
				return fatal{c.lost(err)}
			}
			switch m := m.(type) {
			case *pgproto3.CopyData:
				if err := in.feed(m.Data, false); err != nil {
					return err
				}
			case *pgproto3.CopyDone:
				return in.feed(nil, true)
			case *pgproto3.CopyFail:
				return failure("57014", "COPY from stdin failed: %s", m.Message)
			case *pgproto3.Flush, *pgproto3.Sync: // clients that pipeline send them
			case *pgproto3.Terminate:
				return fatal{errRefused}
			default:
				return fatal{c.refuse(failure("08P01", "unexpected message %T during COPY from stdin", m))}
			}
		}
	}()
	c.mu.Lock()
	c.mu.cancel = nil
	c.mu.Unlock()
	awake()
	_ = c.conn.SetReadDeadline(time.Time{}) // likewise
	return err
}

// feed takes bytes; end says that no more come.
func (in *copyIn) feed(data []byte, end bool) error {
	if in.ended {
		return nil
	}
	in.rest = append(in.rest, data...)
	if most := in.c.server.o.Writer.MaxBytes(); int64(len(in.rest)) > most {
		return failure("54000", "a row of COPY is longer than [%d] bytes", most)
	}
	if in.format.kind == "binary" {
		return in.binary(end)
	}
	at := 0
	for !in.ended {
		n := in.record(in.rest[at:], end)
		if n == 0 {
			break
		}
		record := in.rest[at : at+n]
		at += n
		if err := in.textRecord(record); err != nil {
			return err
		}
	}
	in.rest = append(in.rest[:0], in.rest[at:]...)
	return in.c.holdWrites(int64(len(in.c.txn.writes.lines) + len(in.lines)))
}

// record returns the length of the first record with the end of its line; 0: it is not whole.
func (in *copyIn) record(b []byte, end bool) int {
	for i := in.seen; i < len(b); i++ {
		switch c := b[i]; {
		case in.format.kind == "text" && c == '\\':
			if i++; i >= len(b) { // what it escapes has not come yet
				if in.seen = i - 1; end {
					in.seen = 0
					return len(b)
				}
				return 0
			}
		case in.format.kind == "csv" && in.quoted && c == in.format.escape && in.format.escape != in.format.quote:
			if i++; i >= len(b) {
				if in.seen = i - 1; end {
					in.seen = 0
					return len(b)
				}
				return 0
			}
		case in.format.kind == "csv" && c == in.format.quote:
			in.quoted = !in.quoted
		case c == '\n' && !in.quoted:
			in.seen = 0
			return i + 1
		}
	}
	in.seen = len(b)
	if end {
		in.seen = 0
		return len(b)
	}
	return 0
}

// withPosition adds where an error is, as PostgreSQL tells it.
func (in *copyIn) withPosition(err error, column int, text *string) error {
	e := *in.c.explain(err, "", nil)
	e.where = "COPY " + in.t.table + ", line " + strconv.Itoa(in.line)
	if column >= 0 {
		e.where += ", column " + in.t.columns[column].name
	}
	if text != nil {
		e.where += ": \"" + shortened(*text) + "\""
	}
	return &e
}

// maxShownValue bounds the text of a value in an error.
const maxShownValue = 100

func shortened(s string) string {
	if len(s) > maxShownValue {
		return strings.ToValidUTF8(s[:maxShownValue], "") + "..."
	}
	return s
}

// textRecord takes a record of the formats text and csv.
func (in *copyIn) textRecord(record []byte) error {
	line := strings.TrimSuffix(strings.TrimSuffix(string(record), "\n"), "\r")
	if line == `\.` {
		in.ended = true
		return nil
	}
	var fields []copyField
	var err error
	if in.format.kind == "csv" {
		fields, err = in.format.splitCSV(line)
	} else {
		fields = in.format.splitText(line)
	}
	defer func() { in.line += strings.Count(string(record), "\n") }()
	if err != nil {
		return in.withPosition(err, -1, &line)
	}
	if in.format.header && !in.begun {
		in.begun = true
		return in.header(fields)
	}
	switch n := len(in.t.columns); {
	case len(fields) > n:
		return in.withPosition(failure("22P04", "extra data after last expected column"), -1, &line)
	case len(fields) < n:
		return in.withPosition(failure("22P04", "missing data for column \"%s\"", in.t.columns[len(fields)].name), -1, &line)
	}
	for i, f := range fields {
		in.values[i] = nil
		if f.null {
			continue
		}
		if in.values[i], err = in.c.parseValue(in.t.columns[i].typ, f.text); err != nil {
			if in.format.skip {
				in.skipped++
				return nil
			}
			return in.withPosition(err, i, &f.text)
		}
	}
	return in.add()
}

// header checks the names of the columns, if that is wanted.
func (in *copyIn) header(fields []copyField) error {
	if !in.format.match {
		return nil
	}
	if len(fields) != len(in.t.columns) {
		wrong := failure("22P04", "wrong number of fields in header line: got %d, expected %d", len(fields), len(in.t.columns))
		return in.withPosition(wrong, -1, nil)
	}
	for i, f := range fields {
		if f.text != in.t.columns[i].name {
			return in.withPosition(failure("22P04", "column name mismatch in header line field %d: got \"%s\", expected \"%s\"", i+1, f.text,
				in.t.columns[i].name), -1, nil)
		}
	}
	return nil
}

// add takes the values as a row.
func (in *copyIn) add() (err error) {
	before := len(in.lines)
	if in.lines, err = in.t.appendRow(in.lines, in.values); err != nil {
		in.lines = in.lines[:before]
		return in.withPosition(err, -1, nil)
	}
	in.rows++
	return nil
}

// copyField is a field of a record.
type copyField struct {
	text string
	null bool
}

// splitText reads a line of the format text.
func (f *copyFormat) splitText(line string) (out []copyField) {
	for start := 0; ; {
		i := start
		escaped := false
		for ; i < len(line) && line[i] != f.delimiter; i++ {
			if line[i] == '\\' {
				escaped = true
				i++
			}
		}
		i = min(i, len(line))
		field := copyField{text: line[start:i]}
		if field.text == f.null {
			field = copyField{null: true}
		} else if escaped {
			field.text = unescape(field.text)
		}
		out = append(out, field)
		if i >= len(line) {
			return out
		}
		start = i + 1
	}
}

// escapes are the letters behind a backslash that mean something else.
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

func unescape(s string) string {
	out := make([]byte, 0, len(s))
	digits := func(i, most int, base uint64) (n int, v uint64) {
		for n < most && i+n < len(s) {
			d, err := strconv.ParseUint(s[i+n:i+n+1], int(base), 8)
			if err != nil {
				break
			}
			v = v*base + d
			n++
		}
		return n, v
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if c, ok := escapes[s[i]]; ok {
			out = append(out, c)
			continue
		}
		if n, v := digits(i, 3, 8); n > 0 {
			out = append(out, byte(v))
			i += n - 1
			continue
		}
		if s[i] == 'x' {
			if n, v := digits(i+1, 2, 16); n > 0 {
				out = append(out, byte(v))
				i += n
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// splitCSV reads a line of the format csv.
func (f *copyFormat) splitCSV(line string) (out []copyField, err error) {
	for i := 0; ; i++ {
		var b strings.Builder
		quotes, inside := false, false
		for ; i < len(line); i++ {
			c := line[i]
			switch {
			case inside && c == f.escape && i+1 < len(line) && (line[i+1] == f.quote || line[i+1] == f.escape):
				i++
				b.WriteByte(line[i])
				continue
			case c == f.quote:
				inside, quotes = !inside, true
				continue
			}
			if c == f.delimiter && !inside {
				break
			}
			b.WriteByte(c)
		}
		if inside {
			return nil, failure("22P04", "unterminated CSV quoted field")
		}
		field := copyField{text: b.String()}
		if !quotes && field.text == f.null {
			field = copyField{null: true}
		}
		out = append(out, field)
		if i >= len(line) {
			return out, nil
		}
	}
}

// The header of the binary format: a signature, flags, and the length of the header extension.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	copyHeader    = len(copySignature) + 8
	// copyCritical are the flags that must be known.
	copyCritical = 0xffff0000
)

// binary takes what has come of the binary format.
func (in *copyIn) binary(end bool) error {
	bad := func(message string) error { return in.withPosition(failure("22P04", "%s", message), -1, nil) }
	b := in.rest
	if !in.begun {
		if len(b) < copyHeader && !end {
			return nil
		}
		if len(b) < copyHeader || string(b[:len(copySignature)]) != copySignature {
			return bad("COPY file signature not recognized")
		}
		if uint32Of(b[len(copySignature):])&copyCritical != 0 {
			return bad("unrecognized critical flags in COPY file header")
		}
		more := uint32Of(b[len(copySignature)+4:])
		if more > maxStartup {
			return bad("invalid COPY file header (wrong length)")
		}
		if len(b) < copyHeader+int(more) {
			if end {
				return bad("invalid COPY file header (missing data)")
			}
			return nil
		}
		b, in.begun = b[copyHeader+int(more):], true
	}
	for !in.ended {
		n, err := in.tuple(b)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		b = b[n:]
		in.line++
	}
	in.rest = append(in.rest[:0], b...)
	if end && !in.ended {
		if len(in.rest) > 0 {
			return bad("unexpected EOF in COPY data")
		}
	}
	return in.c.holdWrites(int64(len(in.c.txn.writes.lines) + len(in.lines)))
}

// tuple takes a row of the binary format and returns its length; 0: it is not whole.
func (in *copyIn) tuple(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, nil
	}
	count := int(int16(uint16(b[0])<<8 | uint16(b[1])))
	if count == -1 {
		in.ended = true
		return 2, nil
	}
	if count != len(in.t.columns) {
		return 0, in.withPosition(failure("22P04", "row field count is %d, expected %d", count, len(in.t.columns)), -1, nil)
	}
	at := 2
	for i := range in.t.columns { // is it whole?
		if len(b) < at+4 {
			return 0, nil
		}
		n := int32(uint32Of(b[at:]))
		if n < -1 {
			return 0, in.withPosition(failure("22P04", "invalid field size"), i, nil)
		}
		at += 4 + int(max(n, 0))
		if len(b) < at {
			return 0, nil
		}
	}
	whole := at
	at = 2
	for i, k := range in.t.columns {
		n := int(int32(uint32Of(b[at:])))
		at += 4
		in.values[i] = nil
		if n < 0 {
			continue
		}
		v, err := pgtype.Decode(k.typ, b[at:at+n])
		if err != nil {
			if in.format.skip {
				in.skipped++
				return whole, nil
			}
			return 0, in.withPosition(err, i, nil)
		}
		in.values[i] = v
		at += n
	}
	return whole, in.add()
}
