package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/hengedb/henge/bench/marked"
)

// row is a line of a table of figures.
type row struct{ what, value, goal, how string }

// report is a table of figures with the conditions of its run.
type report struct {
	section string // of the page that has it
	// what was measured, and what else the machine did for it; "": nothing to say.
	what, beside string
	began        time.Time
	before       string // the load average
}

// newReport notes the conditions at the begin of a run.
func newReport(section string) *report {
	return &report{section: section, began: time.Now(), before: load()}
}

// write prints the table, and puts it into the file into, if that is not "".
func (r *report) write(table []row, into string, stdout io.Writer) error {
	var b strings.Builder
	b.WriteString("| What | Measured | Goal | How |\n|---|---|---|---|\n")
	for _, line := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", line.what, line.value, line.goal, line.how)
	}
	fmt.Fprintf(&b, "\n%s: %s%s/%s, %d cores, %s%s; load average %s before, %s after: where it is above the number of cores, "+
		"other work ran beside.\n",
		r.began.UTC().Format("2006-01-02"), r.what, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.beside, r.before, load())
	fmt.Fprint(stdout, b.String())
	if into == "" {
		return nil
	}
	return marked.Replace(into, r.section, b.String())
}
