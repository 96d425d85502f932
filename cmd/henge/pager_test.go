package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// viewer is a terminal of 20 columns and 5 lines: it is given keys and shows what is drawn.
type viewer struct {
	mu    sync.Mutex
	text  strings.Builder
	drawn *sync.Cond
	keys  *io.PipeWriter
	raw   int
}

func newViewer() (*viewer, *screen) {
	r, w := io.Pipe()
	v := &viewer{keys: w}
	v.drawn = sync.NewCond(&v.mu)
	return v, &screen{
		out: v, keys: r, size: func() (int, int) { return 20, 5 },
		raw: func() error { v.raw++; return nil }, cooked: func() error { v.raw--; return nil },
	}
}

func (v *viewer) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drawn.Broadcast()
	return v.text.Write(p)
}

// shows waits for the page that was drawn last.
func (v *viewer) shows(t *testing.T, want string) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	want = strings.ReplaceAll(want, "\n", "\r\n") + "\x1b[7m"
	for {
		pages := strings.Split(v.text.String(), "\x1b[2J")
		if strings.HasPrefix(pages[len(pages)-1], want) {
			return
		}
		v.drawn.Wait()
	}
}

func (v *viewer) press(t *testing.T, key string) {
	t.Helper()
	if _, err := io.WriteString(v.keys, key); err != nil {
		t.Error(err)
	}
}

func TestPager(t *testing.T) {
	t.Setenv("PAGER", "")
	t.Setenv("HENGE_PAGER", "")
	v, s := newViewer()
	p := s.newPage()
	for i := range 10 {
		if _, err := fmt.Fprintf(p, "line %d %s\n", i, strings.Repeat("x", 2*i)); err != nil {
			t.Fatal(err)
		}
	}
	v.shows(t, "line 0 \nline 1 xx\nline 2 xxxx\nline 3 xxxxxx\n")
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	for _, step := range []struct{ key, page string }{
		{" ", "line 4 xxxxxxxx\nline 5 xxxxxxxxxx\nline 6 xxxxxxxxxxxx\nline 7 xxxxxxxxxxxxx\n"},
		{"k", "line 3 xxxxxx\nline 4 xxxxxxxx\nline 5 xxxxxxxxxx\nline 6 xxxxxxxxxxxx\n"},
		{"\x1b[C", "xxx\nxxxxx\nxxxxxxx\nxxxxxxxxx\n"},
		{"\x1b[D", "line 3 xxxxxx\nline 4 xxxxxxxx\nline 5 xxxxxxxxxx\nline 6 xxxxxxxxxxxx\n"},
		{"G", "line 6 xxxxxxxxxxxx\nline 7 xxxxxxxxxxxxx\nline 8 xxxxxxxxxxxxx\nline 9 xxxxxxxxxxxxx\n"},
		{"b", "line 2 xxxx\nline 3 xxxxxx\nline 4 xxxxxxxx\nline 5 xxxxxxxxxx\n"},
		{"g", "line 0 \nline 1 xx\nline 2 xxxx\nline 3 xxxxxx\n"},
		{"jj\x1b[Ak\x1b[6~\x1b[5~", "line 0 \nline 1 xx\nline 2 xxxx\nline 3 xxxxxx\n"},
		{"\r", "line 1 xx\nline 2 xxxx\nline 3 xxxxxx\nline 4 xxxxxxxx\n"},
		{"?", "line 1 xx\nline 2 xxxx\nline 3 xxxxxx\nline 4 xxxxxxxx\n"},
	} {
		v.press(t, step.key)
		v.shows(t, step.page)
	}
	v.press(t, "q")
	if err := <-closed; err != nil || v.raw != 0 || !strings.HasSuffix(v.text.String(), "\x1b[?1049l") {
		t.Errorf("%v, raw %d", err, v.raw)
	}
}

// What the screen holds is printed as it is, and who leaves ends the answer.
func TestPagerThatIsNotNeeded(t *testing.T) {
	t.Setenv("PAGER", "")
	for text, paged := range map[string]bool{
		"a\nb\n": false, "": false, "a\nb\nc\nd\n": false, strings.Repeat("x", 20) + "\n": false,
		strings.Repeat("x", 21) + "\n": true, "a\nb\nc\nd\ne\n": true,
	} {
		v, s := newViewer()
		p := s.newPage()
		if paged {
			go v.press(t, "q")
		}
		_, err := io.WriteString(p, text)
		err = errors.Join(err, p.Close())
		if err != nil || paged != strings.Contains(v.text.String(), "\x1b[?1049h") || !paged && v.text.String() != text {
			t.Errorf("%q: %v, %q", text, err, v.text.String())
		}
	}
	v, s := newViewer()
	p := s.newPage()
	if _, err := io.WriteString(p, "1\n2\n3\n4\n5\n"); err != nil {
		t.Fatal(err)
	}
	v.press(t, "\x03")
	for {
		if _, err := io.WriteString(p, "more\n"); err != nil {
			if !errors.Is(err, errLeft) {
				t.Error(err)
			}
			break
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A long answer is not kept whole: it waits while the user looks at its begin.
func TestPagerOfALongAnswer(t *testing.T) {
	t.Setenv("PAGER", "")
	v, s := newViewer()
	p := s.newPage()
	const lines = 3 * pagerLines
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p, strings.Repeat("line\n", pagerLines))
		for range lines - pagerLines {
			if err == nil {
				_, err = io.WriteString(p, "more\n")
			}
		}
		wrote <- errors.Join(err, p.Close())
	}()
	v.shows(t, "line\nline\nline\nline\n")
	v.press(t, "G")
	v.shows(t, "more\nmore\nmore\nmore\n")
	v.press(t, "q")
	if err := <-wrote; err != nil && !errors.Is(err, errLeft) {
		t.Error(err)
	}
}

func TestPagerOfTheUser(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	t.Setenv("PAGER", "false")
	t.Setenv("HENGE_PAGER", "cat > '"+seen+"'")
	v, s := newViewer()
	p := s.newPage()
	for range 3 {
		if _, err := io.WriteString(p, "a\nb\nc\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil || v.text.String() != "" {
		t.Errorf("%v, %q", err, v.text.String())
	}
	if text, err := os.ReadFile(seen); err != nil || string(text) != strings.Repeat("a\nb\nc\n", 3) {
		t.Errorf("%v, %q", err, text)
	}
	v, s = newViewer()
	p = s.newPage()
	if _, err := io.WriteString(p, "a\n"); err != nil || p.Close() != nil || v.text.String() != "a\n" {
		t.Errorf("%v, %q", err, v.text.String())
	}
	t.Setenv("HENGE_PAGER", "true") // leaves at once
	_, s = newViewer()
	p = s.newPage()
	for n := 0; ; n++ {
		if _, err := io.WriteString(p, strings.Repeat("x\n", 1<<16)); errors.Is(err, errLeft) {
			break
		} else if err != nil || n > 1000 {
			t.Fatal(err, n)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
