package slt

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// DefaultConfig is the name of the config that decides whether a skip is still needed.
const DefaultConfig = "default"

// Config is a way to run scripts.
type Config struct {
	Name string
	// New returns an engine without tables; it lives as long as the test.
	New func(t testing.TB) Engine
	// Moved says that errors name other places of the text than scripts expect.
	Moved bool
	// Unordered says that rows without ORDER BY come in another order than scripts expect.
	Unordered bool
}

// Unable is an Engine's refusal to play a script that asks for what it can't do; the script is
// skipped, with the reason.
type Unable struct{ Reason string }

// Error returns the reason.
func (u Unable) Error() string { return u.Reason }

// Run plays a script. With rewrite, answers are written into the file instead of being compared.
func Run(t *testing.T, s *Script, c Config, rewrite bool) {
	t.Helper()
	ctx := t.Context()
	engine := c.New(t)
	var changed []rewritten
	for _, r := range s.Records {
		switch r := r.(type) {
		case *Load:
			s.setUp(t, r, engine.Load(ctx, r))
		case *Tombstone:
			s.setUp(t, r, engine.Tombstone(ctx, r))
		case *Lookup:
			s.setUp(t, r, engine.Lookup(ctx, r))
		case *Statement:
			answer, err := engine.Query(ctx, r)
			if rewrite {
				changed = append(changed, rewritten{r, r.rewrite(answer, err)})
				continue
			}
			s.judge(t, c, r, answer, err)
		}
	}
	if rewrite {
		if err := os.WriteFile(s.Path, []byte(s.replace(changed)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *Script) setUp(t *testing.T, r Record, err error) {
	t.Helper()
	if unable, ok := errors.AsType[Unable](err); ok {
		t.Skipf("%s:%d: %s", s.Path, r.line(), unable.Reason)
	}
	if err != nil {
		t.Fatalf("%s:%d: %v", s.Path, r.line(), err)
	}
}

// judge compares an answer with what was expected and knows the skips.
func (s *Script) judge(t *testing.T, c Config, r *Statement, answer *Answer, err error) {
	t.Helper()
	place := fmt.Sprintf("%s:%d", s.Path, r.Line)
	if unable, ok := errors.AsType[Unable](err); ok {
		t.Logf("%s: not run: %s", place, unable.Reason)
		return
	}
	difference := r.compare(c, answer, err)
	for _, skip := range r.skips {
		if skip.configs != nil && !slices.Contains(skip.configs, c.Name) {
			continue
		}
		if difference == "" && skip.configs == nil && c.Name == DefaultConfig {
			t.Errorf("%s: answered as expected now, take away the skip: %s", place, skip.reason)
		}
		return
	}
	if difference != "" {
		t.Errorf("%s: [%s]\n%s\n%s", place, c.Name, r.SQL, difference)
	}
}

// compare returns how an answer differs from the expectation, "" if it does not.
func (r *Statement) compare(c Config, answer *Answer, err error) string {
	if r.Err != nil {
		return r.compareError(c, answer, err)
	}
	if err != nil {
		return fmt.Sprintf("failed: %s", describe(err))
	}
	if got := answer.Letters(); got != r.Types {
		return fmt.Sprintf("columns are %s %v, want %s", got, answer.SQLTypes, r.Types)
	}
	want, got := r.Want, answer.lines(r.Sorted || c.Unordered, r.Header)
	if c.Unordered && !r.Sorted {
		head := 0
		if r.Header {
			head = 1
		}
		want = slices.Clone(want)
		slices.Sort(want[min(head, len(want)):])
	}
	if len(want) == len(got) {
		same := true
		for i := range want {
			same = same && sameLine(want[i], got[i], r.Types)
		}
		if same {
			return ""
		}
	}
	return diff(want, got, r.Types)
}

// diff shows the rows that differ: all of both beyond the first and the last common ones.
func diff(want, got []string, letters string) string {
	head := 0
	for head < len(want) && head < len(got) && sameLine(want[head], got[head], letters) {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(got)-head && sameLine(want[len(want)-1-tail], got[len(got)-1-tail], letters) {
		tail++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rows from the %dth on (-want +got)", head+1)
	show := func(sign string, rows []string) {
		const most = 20
		for i, row := range rows {
			if i == most {
				fmt.Fprintf(&b, "\n%s ... %d more", sign, len(rows)-i)
				return
			}
			b.WriteString("\n" + sign + row)
		}
	}
	show("-", want[head:len(want)-tail])
	show("+", got[head:len(got)-tail])
	return b.String()
}

var place = regexp.MustCompile(` ?\(line \[\d+\], column \[\d+\]\)`)

func (r *Statement) compareError(c Config, answer *Answer, err error) string {
	if err == nil {
		return fmt.Sprintf("succeeded with %d rows, want the error %s", len(answer.Rows), r.Err.Text)
	}
	f := fault.Find(err)
	if f == nil {
		return fmt.Sprintf("failed with an error that is no fault: %v", err)
	}
	if f.Category != r.Err.Category {
		return fmt.Sprintf("failed with %s, want %s", describe(err), r.Err.Category)
	}
	want := r.Err.Text
	matches, err := r.Err.matches(f.Message)
	if err != nil {
		return err.Error()
	}
	if !matches && c.Moved {
		// What was printed has its names in other places; what does not parse was not printed.
		moved := WantError{Text: place.ReplaceAllString(want, "")}
		matches, _ = moved.matches(place.ReplaceAllString(f.Message, ""))
	}
	if matches {
		return ""
	}
	return fmt.Sprintf("failed with other words\nwant %s\ngot  %s", want, f.Message)
}

func (w *WantError) matches(message string) (bool, error) {
	if n := len(w.Text); n > 1 && w.Text[0] == '/' && w.Text[n-1] == '/' {
		return regexp.MatchString(w.Text[1:n-1], oneLine(message))
	}
	return strings.Contains(oneLine(message), oneLine(w.Text)), nil
}

func describe(err error) string {
	if f := fault.Find(err); f != nil {
		return fmt.Sprintf("%s: %v", f.Category, f)
	}
	return err.Error()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
