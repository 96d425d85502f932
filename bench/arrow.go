package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arrowRows is how many rows the answers of -arrow have.
const arrowRows = 10_000_000

// arrowReaders are the ways in which arrow.py reads an answer, with what is shown of them.
var arrowReaders = []struct{ name, what, goal, how string }{
	{"arrow", "Arrow over HTTP to pyarrow", "20 M rows/s", "`resultFormat: arrow`, read to a table"},
	{"flight", "Arrow Flight SQL to pyarrow", "", "ADBC, read to a table"},
	{"arrays", "JSON arrays to pyarrow", "a tenth of Arrow", "`resultFormat: array`, a tenth of the rows, parsed by Python's json " +
		"and converted to a table"},
	{"unread", "JSON arrays, not parsed", "", "`resultFormat: array`, read and dropped"},
}

// arrow measures how fast a client gets the rows of two BIGINT columns, and puts it into the file
// into. HENGE_PYARROW_PYTHON names a Python with pyarrow.
func (m *measurement) arrow(ctx context.Context, into string, stdout io.Writer) error {
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		python = "python3"
	}
	figures := newReport("arrow")
	rates := map[string][]float64{}   // in millions of rows a second
	var work map[string]time.Duration // processor time of the server and of the client, of the last run
	err := m.withServer(ctx, func(s *server) error {
		if err := s.ingest(ctx, arrowData()); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, python, "arrow.py", s.router, strconv.Itoa(arrowRows), "SELECT a, b FROM big",
			strconv.Itoa(m.times))
		cmd.Stderr = m.log
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		work = map[string]time.Duration{}
		spent := s.processorTime()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var run struct {
				Name         string
				Rows         float64
				Seconds, CPU float64
			}
			if err := json.Unmarshal(lines.Bytes(), &run); err != nil {
				return err
			}
			now := s.processorTime()
			rates[run.Name] = append(rates[run.Name], run.Rows/run.Seconds/1e6)
			work[run.Name+" server"], spent = now-spent, now
			work[run.Name+" client"] = time.Duration(run.CPU * float64(time.Second))
		}
		return cmd.Wait()
	})
	if err != nil {
		return err
	}
	var table []row
	for _, r := range arrowReaders {
		list := rates[r.name]
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		value := fmt.Sprintf("best %.1f, median %.1f M rows/s; %.2f s of processor time of the server, %.2f s of the client",
			list[len(list)-1], list[len(list)/2], work[r.name+" server"].Seconds(), work[r.name+" client"].Seconds())
		table = append(table, row{r.what, value, r.goal, r.how})
	}
	figures.what = fmt.Sprintf("%d rows of two BIGINT columns over loopback; ", arrowRows)
	return figures.write(table, into, stdout)
}

// arrowData makes the datasource: seven digits of a number, and a multiple of another order of
// them.
func arrowData() string {
	names := []string{"t", "u", "v", "w", "x", "y", "z"}
	var from []string
	for _, n := range names {
		from = append(from, "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS "+n+"(d)")
	}
	number := func(order ...int) string {
		var terms []string
		scale := 1
		for _, i := range order {
			terms = append(terms, fmt.Sprintf("%d * %s.d", scale, names[i]))
			scale *= 10
		}
		return strings.Join(terms, " + ")
	}
	return "REPLACE INTO big OVERWRITE ALL SELECT TIME_PARSE('2024-01-01T00:00:00Z') AS __time, " + number(6, 5, 4, 3, 2, 1, 0) +
		" AS a, 7 * (" + number(0, 3, 1, 2, 6, 4, 5) + ") AS b FROM " + strings.Join(from, " CROSS JOIN ") + " PARTITIONED BY ALL"
}
