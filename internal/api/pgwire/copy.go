package pgwire

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/pg"
)

// copyFormat is how COPY writes rows.
type copyFormat struct {
	kind          string // text, csv, binary
	delimiter     byte
	null          string
	quote, escape byte
	header        bool
	// match says that the header must name the columns, skip that rows with values that can't be read
	// are passed over.
	match, skip bool
}

func copyFormatOf(options map[string]string) (*copyFormat, error) {
	f := &copyFormat{kind: "text", delimiter: '\t', null: `\N`, quote: '"'}
	if k := options["format"]; k != "" {
		f.kind = k
	}
	if f.kind == "csv" {
		f.delimiter, f.null = ',', ""
	}
	if f.kind != "csv" && f.kind != "text" && f.kind != "binary" {
		return nil, failure("22023", "COPY format \"%s\" not recognized", f.kind)
	}
	one := func(name string, into *byte) error {
		v, given := options[name]
		if !given {
			return nil
		}
		if len(v) != 1 || v == "\n" || v == "\r" {
			return failure("0A000", "COPY %s must be a single one-byte character", name)
		}
		*into = v[0]
		return nil
	}
	if err := errors.Join(one("delimiter", &f.delimiter), one("quote", &f.quote)); err != nil {
		return nil, err
	}
	f.escape = f.quote
	if err := one("escape", &f.escape); err != nil {
		return nil, err
	}
	if v, given := options["null"]; given {
		f.null = v
	}
	switch v := options["header"]; v {
	case "true", "on", "1":
		f.header = true
	case "match":
		f.header, f.match = true, true
	case "", "false", "off", "0":
	default:
		return nil, failure("22023", "header requires a Boolean value or \"match\"")
	}
	switch v := options["on_error"]; v {
	case "ignore":
		f.skip = true
	case "", "stop":
	default:
		return nil, failure("22023", "COPY ON_ERROR \"%s\" not recognized", v)
	}
	for name := range options {
		switch name {
		case "format", "delimiter", "null", "quote", "escape", "header", "encoding", "freeze", "on_error":
		default:
			return nil, failure("42601", "option \"%s\" not recognized", name)
		}
	}
	return f, nil
}

// copyTo runs COPY .. TO STDOUT.
func (c *session) copyTo(k *pg.Copy, p *planned) error {
	switch {
	case k.Where != "stdout":
		return failure("42501", "COPY writes to STDOUT only")
	}
	f, err := copyFormatOf(k.Options)
	if err != nil {
		return err
	}
	of := *p
	of.node = &pg.Select{Query: p.query}
	r, err := c.start(&of, nil)
	if err != nil {
		return of.explain(c, err)
	}
	defer r.close()
	m := &pgproto3.CopyOutResponse{ColumnFormatCodes: make([]uint16, len(r.fields))}
	if f.kind == "binary" {
		m.OverallFormat = 1
		for i := range m.ColumnFormatCodes {
			m.ColumnFormatCodes[i] = 1
		}
	}
	c.send(m)
	n, err := c.copyRows(r, f)
	if err != nil {
		return of.explain(c, err)
	}
	c.send(&pgproto3.CopyDone{})
	c.send(&pgproto3.CommandComplete{CommandTag: []byte("COPY " + selectTag(n)[len("SELECT "):])})
	return nil
}

func (c *session) copyRows(r *rows, f *copyFormat) (n int64, err error) {
	head := ""
	if f.kind == "binary" { // clients want it in one message with the first row
		head = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	}
	if f.header && f.kind != "binary" {
		c.copyData(func(b []byte) []byte {
			for i, k := range r.fields {
				if i > 0 {
					b = append(b, f.delimiter)
				}
				b = f.append(b, k.name)
			}
			return append(b, '\n')
		})
	}
	send := func() error {
		for {
			have, err := r.source.next(r.ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for row := range have {
				c.copyData(func(b []byte) []byte { return f.row(append(b, head...), r, row) })
				head = ""
				n++
				if len(c.out) >= flushBytes {
					if err := c.flush(); err != nil {
						return fatal{err}
					}
				}
			}
		}
	}
	if r.cancel == nil {
		err = send()
	} else {
		err = query.Cause(r.ctx, c.busy(r.ctx, r.text, r.cancel, send))
	}
	if err == nil && f.kind == "binary" {
		c.copyData(func(b []byte) []byte { return append(append(b, head...), 0xff, 0xff) })
	}
	return n, err
}

// copyData frames what f writes.
func (c *session) copyData(f func(b []byte) []byte) {
	start := len(c.out)
	c.out = f(append(c.out, 'd', 0, 0, 0, 0))
	binary.BigEndian.PutUint32(c.out[start+1:], uint32(len(c.out)-start-1))
}

func (f *copyFormat) row(b []byte, r *rows, row int) []byte {
	if f.kind == "binary" {
		b = binary.BigEndian.AppendUint16(b, uint16(len(r.fields)))
		for i := range r.fields {
			at := len(b)
			var null bool
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			if b, null = r.source.append(b, row, i, true); !null {
				binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
			}
		}
		return b
	}
	for i := range r.fields {
		if i > 0 {
			b = append(b, f.delimiter)
		}
		value, null := r.source.append(nil, row, i, false)
		if null {
			b = append(b, f.null...)
			continue
		}
		b = f.append(b, string(value))
	}
	return append(b, '\n')
}

// append writes a value that is not NULL.
func (f *copyFormat) append(b []byte, s string) []byte {
	if f.kind == "csv" {
		if s != f.null && !strings.ContainsAny(s, string([]byte{f.delimiter, f.quote, '\n', '\r'})) && s != `\.` {
			return append(b, s...)
		}
		b = append(b, f.quote)
		for i := range len(s) {
			if s[i] == f.quote || s[i] == f.escape {
				b = append(b, f.escape)
			}
			b = append(b, s[i])
		}
		return append(b, f.quote)
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			b = append(b, '\\', '\\')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			if c == f.delimiter {
				b = append(b, '\\')
			}
			b = append(b, c)
		}
	}
	return b
}
