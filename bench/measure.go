package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The limits are those the product promises.
const (
	readyLimit  = 100  // milliseconds
	memoryLimit = 60   // MB
	ingestLimit = 2000 // milliseconds
	sizeLimit   = 66   // MB
	buildLimit  = 240  // seconds
	planLimit   = 200  // microseconds
	longLimit   = 1000 // milliseconds
)

// idle is how long a server is left alone before its memory is read.
const idle = 3 * time.Second

type measurement struct {
	binary, sample string
	dir            string // in which servers get folders; "": the system's for temporary files
	times          int
	log            io.Writer
}

// all takes every figure.
func (m *measurement) all(ctx context.Context, build bool) ([]figure, error) {
	var err error
	if m.binary, err = filepath.Abs(m.binary); err != nil {
		return nil, err
	}
	info, err := os.Stat(m.binary)
	if err != nil {
		return nil, fmt.Errorf("%w; build it with `make build`, or name it with -henge", err)
	}
	if m.sample, err = filepath.Abs(m.sample); err != nil {
		return nil, err
	}
	var out []figure
	take := func(name string, f func(context.Context) ([]figure, error)) error {
		fmt.Fprintf(m.log, "measuring %s ...\n", name)
		figures, err := f(ctx)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", name, err)
		}
		out = append(out, figures...)
		return nil
	}
	if err := take("the start", m.starts); err != nil {
		return nil, err
	}
	if _, err := os.Stat(m.sample); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(m.log, "no sample at %s: ingestion is not measured\n", m.sample)
	} else if err := take("ingestion", m.ingests); err != nil {
		return nil, err
	}
	size := float64(info.Size()) / 1e6
	packed, err := packedSize(m.binary)
	if err != nil {
		return nil, err
	}
	out = append(out, newFigure("size of the binary", "MB", sizeLimit, []float64{size}),
		newFigure("size of the binary, compressed by gzip", "MB", 0, []float64{float64(packed) / 1e6}))
	if build {
		if err := take("the build", m.builds); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// starts measures from the start of the process on an empty directory to its ready line, and the
// memory of the last one when idle.
func (m *measurement) starts(ctx context.Context) ([]figure, error) {
	var ready, memory []float64
	for i := range m.times {
		err := m.withServer(ctx, func(s *server) error {
			ready = append(ready, milliseconds(s.readyAfter))
			if i > 0 {
				return nil
			}
			select {
			case <-time.After(idle):
			case <-ctx.Done():
				return ctx.Err()
			}
			resident, _, err := s.memory()
			memory = append(memory, float64(resident)/1e6)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []figure{
		newFigure("ready from an empty directory", "ms", readyLimit, ready),
		newFigure("resident memory, idle", "MB", memoryLimit, memory),
	}, nil
}

// wikiLoad loads the sample into datasource %[1]s from file %[2]s.
const wikiLoad = `REPLACE INTO %[1]s OVERWRITE ALL
SELECT TIME_PARSE("time") AS __time, channel, cityName, comment, countryIsoCode, countryName, isAnonymous, isMinor, isNew, isRobot,
  isUnpatrolled, metroCode, namespace, page, regionIsoCode, regionName, "user", delta, added, deleted
FROM TABLE(EXTERN('{"type":"local","files":[%[2]s]}', '{"type":"json"}')) EXTEND ("time" VARCHAR, channel VARCHAR, cityName VARCHAR,
  comment VARCHAR, countryIsoCode VARCHAR, countryName VARCHAR, isAnonymous VARCHAR, isMinor VARCHAR, isNew VARCHAR, isRobot VARCHAR,
  isUnpatrolled VARCHAR, metroCode BIGINT, namespace VARCHAR, page VARCHAR, regionIsoCode VARCHAR, regionName VARCHAR, "user" VARCHAR,
  delta BIGINT, added BIGINT, deleted BIGINT)
PARTITIONED BY DAY`

// wikiRows is the number of edits in the sample.
const wikiRows = 39244

// ingests measures from the submission of the sample's load to the first complete answer, how long
// a statement over it is planned, and how long the longest statements take.
func (m *measurement) ingests(ctx context.Context) ([]figure, error) {
	file, err := json.Marshal(m.sample)
	if err != nil {
		return nil, err
	}
	var took []float64
	var statements []figure
	for i := range m.times {
		err := m.withServer(ctx, func(s *server) error {
			began := time.Now()
			if err := s.ingest(ctx, fmt.Sprintf(wikiLoad, "wikipedia", strings.ReplaceAll(string(file), "'", "''"))); err != nil {
				return err
			}
			rows, err := s.count(ctx, "wikipedia")
			took = append(took, milliseconds(time.Since(began)))
			if err == nil && rows != wikiRows {
				err = fmt.Errorf("%d rows are there, want %d", rows, wikiRows)
			}
			if err == nil && i == 0 {
				statements, err = m.statements(ctx, s)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return append([]figure{newFigure("wiki sample (39,244 rows) submitted to queryable", "ms", ingestLimit, took)}, statements...), nil
}

func (m *measurement) statements(ctx context.Context, s *server) ([]figure, error) {
	planned, err := m.plans(ctx, s)
	if err != nil {
		return nil, err
	}
	long, err := m.readsLong(ctx, s)
	return append([]figure{planned}, long...), err
}

// builds measures a build with an empty cache. Modules are taken from the module cache.
func (m *measurement) builds(ctx context.Context) ([]figure, error) {
	dir, err := os.MkdirTemp("", "henge-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "henge"), "./cmd/henge")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+filepath.Join(dir, "cache"), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return []figure{newFigure("go build from a clean cache", "s", buildLimit, []float64{time.Since(began).Seconds()})}, nil
}

// packedSize is how large a file is when gzip has compressed it: what a download of it weighs.
func packedSize(path string) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // it is only read
	z := gzip.NewWriter(counting{&n})
	if _, err := io.Copy(z, f); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	return n, nil
}

// counting counts what is written.
type counting struct{ n *int64 }

// Write implements io.Writer.
func (c counting) Write(p []byte) (int, error) {
	*c.n += int64(len(p))
	return len(p), nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
