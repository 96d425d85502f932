package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// copyForm is how \copy reads: a table or a query in parentheses, the direction, a file.
var copyForm = regexp.MustCompile(`(?is)^(\(.*\)|"(?:[^"]|"")+"|[^\s"(]+(?:\."(?:[^"]|"")+")?)\s+(from|to)\s+` +
	`('(?:[^']|'')*'|\S+)(?:\s+(\w+))?$`)

// copyFile is the command \copy: it loads a file of this machine, or writes an answer to one.
func (p *prompt) copyFile(ctx context.Context, args string) error {
	m := copyForm.FindStringSubmatch(args)
	if m == nil {
		return fault.InvalidInput(`Write \copy TABLE FROM 'file' [append|replace], \copy TABLE TO 'file' or \copy (SELECT ..) TO 'file'`)
	}
	of, from, file, option := m[1], strings.EqualFold(m[2], "from"), m[3], strings.ToLower(m[4])
	if strings.HasPrefix(file, "'") {
		file = strings.ReplaceAll(file[1:len(file)-1], "''", "'")
	}
	if file == "" {
		return fault.InvalidInput(`Command [\copy] needs a file`)
	}
	query := strings.HasPrefix(of, "(")
	if !from {
		if option != "" {
			return fault.InvalidInput(`Option [%s] is unknown: \copy .. TO has no options`, option)
		}
		if query {
			of = of[1 : len(of)-1]
		} else {
			of = "SELECT * FROM " + of
		}
		return p.copyTo(ctx, of, file)
	}
	switch {
	case query:
		return fault.InvalidInput(`A query cannot be the target of a load: write \copy TABLE FROM '%s'`, file)
	case option != "" && option != "append" && option != "replace":
		return fault.InvalidInput(`Option [%s] of \copy is unknown; use append or replace`, option)
	case p.client.local:
		return fault.InvalidInput(`There is no server to load into; read the file in a statement: SELECT * FROM '%s'`, file)
	}
	return p.copyFrom(ctx, of, file, option)
}

// copyFrom loads a file as henge ingest does.
func (p *prompt) copyFrom(ctx context.Context, name, file, option string) error {
	schema, table := splitName(name)
	if schema != "" && schema != "service" && schema != "druid" {
		return fault.InvalidInput("Schema [%s] has no datasources to load into", schema)
	}
	o := &ingestOptions{
		client: p.client, clock: p.clock, in: strings.NewReader(""), out: io.Discard, err: p.err, into: table, partitionedBy: "DAY",
		onMisfit: misfitFail, replace: option == "replace", again: option == "append", copies: true,
	}
	err := o.run(ctx, []string{file})
	if f := fault.Find(err); f != nil { // in the words of this command
		words := strings.NewReplacer("--replace replaces", `\copy .. replace replaces`, "--append adds", `\copy .. append adds`,
			"again with --replace", `again with \copy .. replace`)
		return fault.InvalidInput("%s", words.Replace(messageOf(err)))
	}
	return err
}

// copyFormats are the formats of files by their suffixes.
var copyFormats = map[string]string{
	".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".md": "markdown",
	".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrow",
}

// copyFormat returns the format of a file by its name, and how it is packed: "", ".gz" or ".zst".
func copyFormat(file string) (format, packed string, err error) {
	name := strings.ToLower(filepath.Base(file))
	if e := filepath.Ext(name); e == ".gz" || e == ".zst" {
		packed, name = e, strings.TrimSuffix(name, e)
	}
	if format = copyFormats[filepath.Ext(name)]; format == "" {
		return "", "", fault.InvalidInput("The extension of file [%s] is not a known format; use .csv, .tsv, .json, .ndjson, .parquet, .arrow "+
			"or .md, optionally followed by .gz or .zst", record.Printable(file))
	}
	return format, packed, nil
}

// copyTo writes the answer of a query to a file, which is there when all of it is.
func (p *prompt) copyTo(ctx context.Context, query, file string) (err error) {
	format, packed, err := copyFormat(file)
	if err != nil {
		return err
	}
	if write, _ := script.IsWrite(query); write {
		return fault.InvalidInput(`Command [\copy] writes the result of a query, but this statement is not a query`)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fault.InvalidInput("File [%s] can't be written: it is not a regular file", record.Printable(file))
	}
	t, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fault.InvalidInput("File [%s] can't be written: %v", record.Printable(file), reasonOf(err))
	}
	defer func() {
		if err != nil {
			_ = t.Close() // what matters is the other error
			_ = os.Remove(t.Name())
		}
	}()
	quiet := *p.session
	count := &countedFile{File: t, line: statusLine{w: p.err, clock: p.clock}}
	out, err := packTo(count, packed)
	if err != nil {
		return err
	}
	quiet.out, quiet.format = out, format
	began := p.clock.Now()
	rows, err := quiet.read(ctx, "/service/v2/sql", query)
	count.line.end()
	if err = errors.Join(err, out.Close()); err != nil {
		if _, broken := errors.AsType[*os.PathError](err); broken {
			return fault.InvalidInput("File [%s] can't be written: %v", record.Printable(file), reasonOf(err))
		}
		return err
	}
	if err := errors.Join(t.Chmod(0o644), t.Close(), os.Rename(t.Name(), file)); err != nil {
		return fault.InvalidInput("File [%s] can't be written: %v", record.Printable(file), reasonOf(err))
	}
	took := p.clock.Now().Sub(began)
	fmt.Fprintf(p.err, "%s to %s: %s bytes in %s\n", counted(rows, "row"), record.Printable(file), grouped(count.n),
		took.Round(time.Millisecond))
	return nil
}

// countedFile shows how much was written to a file.
type countedFile struct {
	*os.File
	n    int64
	line statusLine
}

// Write implements io.Writer.
func (c *countedFile) Write(b []byte) (int, error) {
	n, err := c.File.Write(b)
	c.n += int64(n)
	c.line.show("bytes written", c.n, 0)
	return n, err
}

// unpacked is a file that is not compressed: its owner closes it.
type unpacked struct{ io.Writer }

// Close implements io.Closer.
func (unpacked) Close() error { return nil }

// packTo compresses what is written to w.
func packTo(w io.Writer, packed string) (io.WriteCloser, error) {
	switch packed {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w)
	}
	return unpacked{w}, nil
}
