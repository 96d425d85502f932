package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/role/local"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// memoryTenths is which part of the machine's memory queries without a server may take, as those of
// a server may.
const memoryTenths = 6

// localOptions say how files are read without a server.
type localOptions struct {
	force, urls       bool
	header, delimiter string
	onMisfit          string
	columns           []string
}

func (l *localOptions) add(flags *pflag.FlagSet) {
	flags.BoolVar(&l.force, "local", false, "run without a server, even if no data file is given")
	flags.BoolVar(&l.urls, "allow-urls", false, "without a server: allow queries to read URLs (http, https, s3)")
	flags.StringVar(&l.header, "header", "auto",
		"without a server: whether the first row of CSV and TSV files is a header: yes, no or auto")
	flags.StringVar(&l.delimiter, "delimiter", "", "without a server: delimiter of CSV and TSV files (default: detected)")
	flags.StringArrayVar(&l.columns, "column", nil, "without a server: type of a column, as NAME=TYPE")
	flags.StringVar(&l.onMisfit, "on-misfit", misfitFail,
		"without a server: how to treat values that would change: fail, or null to read them as NULL")
}

// Suffixes of files of data, without that of their compression.
var (
	dataSuffixes = []string{".csv", ".tsv", ".tab", ".json", ".ndjson", ".jsonl", ".parquet", ".orc", ".avro", ".ocf"}
	packSuffixes = []string{".gz", ".zst", ".bz2", ".xz", ".lz4", ".sz", ".snappy", ".zip"}
)

// dataName returns the name of a file of data without its suffixes, and whether it is called as
// such files are.
func dataName(path string) (name string, ok bool) {
	name = filepath.Base(filepath.Clean(path))
	if suffix := strings.ToLower(filepath.Ext(name)); slices.Contains(packSuffixes, suffix) {
		name, ok = name[:len(name)-len(suffix)], suffix != ".sz"
	}
	if suffix := strings.ToLower(filepath.Ext(name)); slices.Contains(dataSuffixes, suffix) {
		return name[:len(name)-len(suffix)], true
	}
	return name, ok
}

// isData reports whether an argument of henge sql is data, and not statements.
func isData(arg string) bool {
	if _, ok := dataName(arg); ok {
		return true
	}
	info, err := os.Stat(arg)
	if err != nil {
		return strings.ContainsAny(arg, "*?[{")
	}
	return info.IsDir()
}

// isAddress reports whether an argument of henge sql is the address of a server.
func isAddress(arg string) bool {
	scheme, rest, ok := strings.Cut(arg, "://")
	_, path, _ := strings.Cut(rest, "/")
	return ok && (scheme == "http" || scheme == "https") && path == ""
}

// namedFile finds files in the place of tables in statements that can't be parsed.
var namedFile = regexp.MustCompile(`(?i)\b(from|join)\s+'[^']+\.(csv|tsv|json|ndjson|jsonl|parquet|orc|avro)(\.[a-z0-9]+)?'`)

// readsFiles reports whether a text of statements has files in the place of tables.
func readsFiles(text string) bool {
	found := false
	var statements strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), `\`)
		switch m := copyForm.FindStringSubmatch(strings.TrimSpace(strings.TrimPrefix(command, "copy "))); {
		case !ok:
			statements.WriteString(line)
		case m != nil && strings.HasPrefix(m[1], "("):
			statements.WriteString(m[1][1:len(m[1])-1] + ";\n")
		}
	}
	for _, statement := range script.Split(statements.String()) {
		script, err := syntax.Parse(statement)
		if err != nil {
			found = found || namedFile.MatchString(statement)
			continue
		}
		syntax.Walk(script.Statement, func(n syntax.Node) bool {
			t, ok := n.(*syntax.Table)
			found = found || ok && t.File
			return !found
		})
	}
	return found
}

// open starts the engine with the files of data, and returns the client that asks it.
func (l *localOptions) open(data []string, in io.Reader, errs io.Writer, c clock.Clock) (*localRun, error) {
	o := &ingestOptions{clock: c, in: in, err: errs, into: "-", onMisfit: l.onMisfit}
	o.survey.Delimiter, o.survey.NoTime = l.delimiter, true
	if err := o.check(l.header, l.columns); err != nil {
		return nil, err
	}
	access := &ingest.Access{Clock: c}
	if !l.urls {
		access.CheckAddress = refuseAddress
	}
	o.survey.Access = access
	tables := &localTables{o: o, urls: l.urls, named: map[string]string{}, known: map[string]*localTable{}}
	for _, path := range data {
		if err := tables.name(path); err != nil {
			return nil, err
		}
	}
	engine, err := local.Open(local.Options{
		Tables: tables, Access: access, Memory: role.MachineMemory() / 10 * memoryTenths, Clock: c, Version: version, Rows: &tables.rows,
	})
	if err != nil {
		return nil, err
	}
	asks := &client{base: "http://local", local: true, http: &http.Client{Transport: engine}}
	return &localRun{engine: engine, tables: tables, client: asks}, nil
}

// localRun is henge sql without a server.
type localRun struct {
	engine *local.Engine
	tables *localTables
	client *client
}

func (r *localRun) close() error {
	return errors.Join(r.engine.Close(), r.tables.close())
}

// errNoURLs rejects files that are not local.
func errNoURLs(what string) error {
	return fault.InvalidInput("[%s] is not a local file; --allow-urls allows queries to read URLs", record.Printable(what))
}
