package push

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/clock"
)

func TestStoreKeepsItsLogs(t *testing.T) {
	dir := t.TempDir()
	begin := func() *Store {
		s, err := OpenStore(Options{Dir: dir, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := begin()
	names := []string{
		"wiki", "..a.b", "with space", "größe%2F", "a:b", `a\b`, strings.Repeat("ж", 127), strings.Repeat("史", 83) + "%.",
		"wiki/0123456789abcdef",
		strings.Repeat("ж", 110) + "/0123456789abcdef",
	}
	for _, name := range names {
		l, err := s.Log(name)
		if err != nil {
			t.Fatal(err)
		}
		send(t, l, rows(name))
	}
	id := s.Partition()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.openLocked(strings.Repeat("%", 90)); err == nil {
		t.Error("a name that no directory has")
	}
	if _, err := s.Log("another"); err == nil {
		t.Error("a closed store begins a log")
	}
	s = begin()
	defer s.Close()
	got := s.DataSources()
	slices.Sort(got)
	slices.Sort(names)
	if s.Partition() != id || !slices.Equal(got, names) {
		t.Errorf("store %s has %q, want %s with %q", s.Partition(), got, id, names)
	}
	for _, name := range names {
		if bodies := readAll(t, s.Find(name), 0); !slices.Equal(bodies, []string{name}) {
			t.Errorf("%s: %q", name, bodies)
		}
	}
	if s.Find("another") != nil {
		t.Error("a log is there that nothing was sent to")
	}
}
