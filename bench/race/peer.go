package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peer.py
var peerProgram string

// peer is an engine inside a Python process that is asked over its standard input (see peer.py).
type peer struct {
	kind dialect
	// overParquet is DuckDB without tables of its own: it reads a file of Parquet for each query.
	overParquet bool
	files       map[string]string // by table
	told        string
	home        string
	command     []string
	cmd         *exec.Cmd
	stdin       io.WriteCloser
	stdout      *bufio.Reader
}

func startPeer(python, dir, name, memory string, threads int) (*peer, error) {
	kind, overParquet := strings.CutSuffix(name, "-parquet")
	home := filepath.Join(dir, name)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of %s: %w", kind, err)
	}
	program := filepath.Join(home, "peer.py")
	if err := os.WriteFile(program, []byte(peerProgram), 0o644); err != nil {
		return nil, fmt.Errorf("writing the program of %s: %w", kind, err)
	}
	p := &peer{kind: dialect(kind), overParquet: overParquet, files: map[string]string{}, home: home,
		command: []string{python, program, kind, home, fmt.Sprint(threads), memory}}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *peer) start() error {
	p.cmd = exec.Command(p.command[0], p.command[1:]...)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.stdout = bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.kind, err)
	}
	reply, err := p.call(map[string]any{"op": "hello"})
	if err != nil {
		return errors.Join(err, p.close())
	}
	p.told = reply.Version
	return nil
}

func (p *peer) cool() error {
	if err := errors.Join(p.close(), evict(p.home)); err != nil {
		return err
	}
	for _, file := range p.files {
		if err := evict(file); err != nil {
			return err
		}
	}
	return p.start()
}

type peerReply struct {
	Error   string
	Version string
	MS      json.RawMessage
	Rows    [][]any
	Errors  int
	Wrong   int
	First   string
	Bytes   int64
}

func (p *peer) call(request map[string]any) (peerReply, error) {
	var reply peerReply
	text, err := json.Marshal(request)
	if err != nil {
		return reply, err
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return reply, fmt.Errorf("asking %s: %w", p.kind, err)
	}
	line, err := p.stdout.ReadBytes('\n')
	if err != nil {
		return reply, fmt.Errorf("reading the answer of %s: %w", p.kind, err)
	}
	if err := decodeExact(line, &reply); err != nil {
		return reply, fmt.Errorf("decoding the answer of %s: %w", p.kind, err)
	}
	if reply.Error != "" {
		return reply, fmt.Errorf("%s: %s", p.kind, reply.Error)
	}
	return reply, nil
}

func (p *peer) run(statements ...string) (answer, error) {
	reply, err := p.call(map[string]any{"op": "run", "sql": statements})
	if err != nil {
		return answer{}, err
	}
	var ms float64
	if err := json.Unmarshal(reply.MS, &ms); err != nil {
		return answer{}, fmt.Errorf("decoding the time of %s: %w", p.kind, err)
	}
	return answer{rows: reply.Rows, took: millis(ms)}, nil
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func (p *peer) name() string {
	if p.overParquet {
		return "DuckDB over Parquet"
	}
	return map[dialect]string{duckSQL: duckName, clickSQL: "chDB"}[p.kind]
}
func (p *peer) dialect() dialect { return p.kind }
func (p *peer) version() string  { return p.told }
func (p *peer) pid() int         { return p.cmd.Process.Pid }

func (p *peer) ask(_ context.Context, sql string) (answer, error) { return p.run(sql) }

// load reads the file into a table whose rows lie in order of time: DuckDB keeps the order of the
// file, ClickHouse sorts by its key.
func (p *peer) load(_ context.Context, t *table, file string, format fileFormat) (time.Duration, error) {
	if p.overParquet {
		p.files[t.name] = file
	}
	a, err := p.run(p.loadSQL(t, file, format)...)
	return a.took, err
}

// manyValues are the texts of more than 10,000 different values.
var manyValues = map[string]bool{"d200k": true, "user": true, "url": true, "Title": true, "URL": true, "Referer": true, "OriginalURL": true,
	"SearchPhrase": true}

func (p *peer) loadSQL(t *table, file string, format fileFormat) []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	columns := strings.Join(names, `","`)
	if p.kind == duckSQL {
		at := "t"
		if t.time != nil {
			at = t.time.duck
		}
		read := ` AS SELECT ` + at + ` AS __time,"` + columns + `" FROM `
		if p.overParquet {
			return []string{`CREATE OR REPLACE VIEW ` + t.name + read + t.duckSource(file, parquet)}
		}
		return []string{`CREATE OR REPLACE TABLE ` + t.name + read + t.duckSource(file, format), `CHECKPOINT race`}
	}
	structure, stored := "t Int64", "__time Int64"
	for _, c := range t.columns {
		typ := map[string]string{"VARCHAR": "String", "BIGINT": "Int64", "DOUBLE": "Float64"}[c.sqlType]
		if c.sqlType == "VARCHAR" && !manyValues[c.name] {
			typ = "LowCardinality(" + typ + ")" // its documentation advises it below 10,000 different values
		}
		if t.nulls {
			typ = strings.Replace("Nullable("+typ+")", "Nullable(LowCardinality(String))", "LowCardinality(Nullable(String))", 1)
		}
		structure += fmt.Sprintf(`, "%s" %s`, c.name, typ)
		stored += fmt.Sprintf(`, "%s" %s`, c.name, typ)
	}
	read := map[fileFormat]string{ndjson: "JSONEachRow", csv: "CSVWithNames", parquet: "Parquet"}[format]
	return []string{
		`DROP TABLE IF EXISTS ` + t.name,
		`CREATE TABLE ` + t.name + ` (` + stored + `) ENGINE=MergeTree ORDER BY __time`,
		`INSERT INTO ` + t.name + ` SELECT t,"` + columns + `" FROM file('` + file + `', ` + read + `, '` + strings.ReplaceAll(structure, "'", "''") + `')`,
	}
}

// duckSource is what DuckDB reads a file with.
func (t *table) duckSource(file string, format fileFormat) string {
	var list []string
	if t.time == nil {
		list = append(list, `"t":'BIGINT'`)
	}
	for _, c := range t.columns {
		list = append(list, fmt.Sprintf(`"%s":'%s'`, c.name, c.sqlType))
	}
	types := "{" + strings.Join(list, ",")
	return map[fileFormat]string{
		ndjson:  fmt.Sprintf(`read_json('%s', format='newline_delimited', columns=%s})`, file, types),
		csv:     fmt.Sprintf(`read_csv('%s', header=true, columns=%s})`, file, types),
		parquet: fmt.Sprintf(`read_parquet('%s')`, file),
	}[format]
}

func (p *peer) clients(_ context.Context, c crowd) (clientTimes, error) {
	reply, err := p.call(map[string]any{"op": "clients", "n": c.n, "seconds": c.d.Seconds(), "sql": c.statements, "heavy": c.heavy})
	if err != nil {
		return clientTimes{}, err
	}
	var ms []float64
	if err := json.Unmarshal(reply.MS, &ms); err != nil {
		return clientTimes{}, fmt.Errorf("decoding the times of %s: %w", p.kind, err)
	}
	out := clientTimes{errors: reply.Errors}
	for _, m := range ms {
		out.times = append(out.times, millis(m))
	}
	return out, nil
}

func (p *peer) size(_ context.Context, t *table) (int64, error) {
	if p.overParquet {
		file, err := os.Stat(p.files[t.name])
		if err != nil {
			return 0, fmt.Errorf("measuring the file of [%s]: %w", t.name, err)
		}
		return file.Size(), nil
	}
	reply, err := p.call(map[string]any{"op": "size", "table": t.name})
	return reply.Bytes, err
}

func (p *peer) close() error {
	_ = p.stdin.Close() // the process ends when its input does
	return p.cmd.Wait()
}
