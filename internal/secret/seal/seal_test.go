package seal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestWhatIsSealedOpensAsItselfOnly(t *testing.T) {
	c := fakeclock.New(time.Unix(1_700_000_000, 0))
	sealer := func(key byte) *Sealer {
		s, err := New(bytes.Repeat([]byte{key}, KeyBytes), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := sealer(1)
	text, err := s.SealText("a", map[string]string{"x": "hidden"}, time.Minute)
	if err != nil || strings.ContainsAny(text, "+/=;, ") {
		t.Fatal(text, err)
	}
	open := func(s *Sealer, kind, text string) string {
		var v map[string]string
		switch expired, ok := s.OpenText(kind, text, &v); {
		case ok:
			return v["x"]
		case expired:
			return "expired"
		}
		return "no"
	}
	other := "A"
	if text[20] == 'A' {
		other = "B"
	}
	for name, test := range map[string]struct{ got, want string }{
		"itself":       {open(s, "a", text), "hidden"},
		"another one":  {open(sealer(1), "a", text), "hidden"},
		"another key":  {open(sealer(2), "a", text), "no"},
		"another kind": {open(s, "b", text), "no"},
		"changed":      {open(s, "a", text[:20]+other+text[21:]), "no"},
		"cut off":      {open(s, "a", text[:len(text)-2]), "no"},
		"short":        {open(s, "a", "AAAA"), "no"},
		"empty":        {open(s, "a", ""), "no"},
		"no base64":    {open(s, "a", "!"+text[1:]), "no"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", name, test.got, test.want)
		}
	}
	var number int
	if _, ok := s.OpenText("a", text, &number); ok {
		t.Error("a value opens as one of another type")
	}
	c.Advance(time.Minute)
	if got := open(s, "a", text); got != "expired" {
		t.Errorf("at its end: %s", got)
	}
	if _, err := New(make([]byte, 5), c); err == nil {
		t.Error("a key of five bytes is taken")
	}
	if _, err := s.Seal("a", func() {}, time.Minute); err == nil {
		t.Error("a function is sealed")
	}
}
