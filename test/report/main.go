// Command report reads the output of `go test -json` and prints a readable report: a line per
// package, the output of failed tests, and the skipped tests with their reasons.
//
// It exits with 1 if a test failed, and with -strict also if a test was skipped because something
// that could be installed is missing.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is a line of test2json (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output
	Test       string
	Output     string
}

// bySense are words in the reasons of skips that nothing which could be installed would change.
var bySense = []string{
	"-short", "no -record", "no -ask", "root may write everywhere", "the super user may write", "this user may not mount a file system",
	"file systems can't be mounted here", "HENGE_URL names no server", "HENGE_GOLDEN and HENGE_OPENAPI name", "a writer of 64 bits",
	"the store in memory does not know", "there is one processor", "behind a flag",
	"nothing is ingested from no rows", "ingestion gives ever newer versions",
	// The recordings lie beside the repository: whoever has only the source has none.
	"../shared", "the recorded", "the shared recordings", "the sample of wiki edits",
	"beside this repository", "beside the repository", "beside the checkout",
}

type key struct{ pkg, test string }

// summary is what is known of a run so far.
type summary struct {
	output  map[key][]string // of what is not known to have passed
	skipped map[key]string   // with the reason
	passed  int
	failed  []key
}

func main() {
	strict := flag.Bool("strict", false, "fail when a test was skipped for want of something that could be there")
	flag.Parse()
	s := &summary{output: map[key][]string{}, skipped: map[key]string{}}
	if err := s.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	if !s.conclude(os.Stdout, *strict) {
		os.Exit(1)
	}
}

// read takes the events, and writes what a package has to say when it is through.
func (s *summary) read(r io.Reader, w io.Writer) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil { // go vet and go build write as they like
				fmt.Fprintf(w, "%s\n", strings.TrimRight(string(line), "\n"))
			} else {
				s.take(e, w)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) take(e event, w io.Writer) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(w, e.Output)
	case "output":
		s.output[k] = append(s.output[k], e.Output)
	case "pass":
		if e.Test != "" {
			s.passed++
			delete(s.output, k)
			return
		}
		s.closing(k, w)
	case "skip":
		if e.Test == "" { // a package without tests
			delete(s.output, k)
			return
		}
		s.skipped[k] = reason(s.output[k])
		delete(s.output, k)
	case "fail":
		s.failed = append(s.failed, k)
		for _, line := range s.output[k] {
			fmt.Fprint(w, line)
		}
		delete(s.output, k)
	}
}

// closing writes the last line of a package that passed: ok, its name and its time.
func (s *summary) closing(k key, w io.Writer) {
	for _, line := range s.output[k] {
		if strings.HasPrefix(line, "ok ") {
			fmt.Fprint(w, line)
		}
	}
	delete(s.output, k)
}

// reason is what t.Skip was called with: the last line that names a place.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if _, text, ok := strings.Cut(line, "_test.go:"); ok {
			if _, text, ok = strings.Cut(text, ": "); ok {
				return strings.TrimSpace(text)
			}
		}
		if place, text, ok := strings.Cut(strings.TrimSpace(line), ".go:"); ok && !strings.Contains(place, " ") {
			if _, text, ok = strings.Cut(text, ": "); ok {
				return strings.TrimSpace(text)
			}
		}
	}
	return "no reason is given"
}

// conclude writes what was skipped, grouped by the reason, and the counts. It reports whether the
// run is good.
func (s *summary) conclude(w io.Writer, strict bool) bool {
	// What never ended, as tests of a process that was killed, may say why.
	for k, lines := range s.output {
		fmt.Fprintf(w, "%s %s did not end:\n%s", k.pkg, k.test, strings.Join(lines, ""))
	}
	byReason := map[string][]key{}
	for k, why := range s.skipped {
		byReason[why] = append(byReason[why], k)
	}
	reasons := make([]string, 0, len(byReason))
	for why := range byReason {
		reasons = append(reasons, why)
	}
	slices.Sort(reasons)
	wanting := 0
	if len(reasons) > 0 {
		fmt.Fprintln(w, "skipped:")
	}
	for _, why := range reasons {
		tests := byReason[why]
		slices.SortFunc(tests, func(a, b key) int { return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.test, b.test)) })
		mark := ""
		if !slices.ContainsFunc(bySense, func(words string) bool { return strings.Contains(why, words) }) {
			wanting += len(tests)
			mark = " (test/setup installs what is wanted)"
		}
		fmt.Fprintf(w, "  %s%s: %d, such as %s in %s\n", why, mark, len(tests), tests[0].test, tests[0].pkg)
	}
	for _, k := range s.failed {
		if k.test != "" {
			fmt.Fprintf(w, "FAILED %s in %s\n", k.test, k.pkg)
		} else {
			fmt.Fprintf(w, "FAILED %s\n", k.pkg)
		}
	}
	good := len(s.failed) == 0
	if strict && wanting > 0 {
		fmt.Fprintf(w, "%d tests were skipped for want of something, which is an error here\n", wanting)
		good = false
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", s.passed, len(s.failed), len(s.skipped))
	return good
}
