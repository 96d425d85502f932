package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

// engine is one participant. It is a process of its own, so that its memory can be told apart, and
// is used by one goroutine; Druid is several, whose memory is not told.
type engine interface {
	name() string
	dialect() dialect
	version() string
	// pid is the process, or 0.
	pid() int

	// load makes a table anew from a file. The time ends when the rows can be queried.
	load(ctx context.Context, t *table, file string, format fileFormat) (time.Duration, error)
	ask(ctx context.Context, sql string) (answer, error)
	clients(ctx context.Context, c crowd) (clientTimes, error)
	permute(ctx context.Context, p permuted) (permutedTimes, error)
	// size is the bytes on disk of a table.
	size(ctx context.Context, t *table) (int64, error)
	// cool ends the process, drops what the system caches of its files, and starts it on them again.
	cool() error
	close() error
}

// answer is the rows of a query with the time the client waited for them. Numbers are json.Number.
type answer struct {
	rows [][]any
	took time.Duration
}

// crowd is a number of clients that ask the statements in turn for some time. If there is a heavy
// statement one more client asks it without a pause; its own times don't count.
type crowd struct {
	n          int
	d          time.Duration
	statements []string
	heavy      string
}

// clientTimes is what clients measured together.
type clientTimes struct {
	times  []time.Duration
	errors int
}

// decodeExact decodes without losing digits of large integers.
func decodeExact(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// peakMemory is the largest resident size of a process since resetPeak, in bytes.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process [%d]: %w", pid, err)
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process [%d] tells no peak of its memory", pid)
}

func resetPeak(pid int) error {
	if pid == 0 {
		return nil
	}
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
