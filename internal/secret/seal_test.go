package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func keyFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

func TestSealer(t *testing.T) {
	first := bytes.Repeat([]byte{1}, 32)
	one := keyFile(t, base64.StdEncoding.EncodeToString(first)+"\n", 0o600)
	two := keyFile(t, hex.EncodeToString(bytes.Repeat([]byte{2}, 32)), 0o400)
	open := func(file, previous string) *Sealer {
		s, err := OpenSealer(file, previous)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old, rotated, over, none := open(one, ""), open(two, one), open("", one), open("", "")
	sealed := old.Seal("tasks", "stones")
	if strings.Contains(sealed, "stones") || sealed == old.Seal("tasks", "stones") || SealedBy(sealed) != old.Current() {
		t.Errorf("sealed as %s, twice the same or by [%s]", sealed, SealedBy(sealed))
	}
	for name, s := range map[string]*Sealer{"the key": old, "a newer one": rotated, "only to open": over} {
		if got, err := s.Open("tasks", sealed); err != nil || got != "stones" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if again := rotated.Seal("tasks", "stones"); SealedBy(again) == SealedBy(sealed) {
		t.Error("a new key seals as the old one")
	}
	if over.Seal("tasks", "stones") != "stones" || none != nil || none.Seal("tasks", "stones") != "stones" || none.Current() != "" {
		t.Error("without a key something is sealed")
	}
	if got, err := none.Open("tasks", `{"a":1}`); err != nil || got != `{"a":1}` {
		t.Errorf("what is not sealed: %q, %v", got, err)
	}
	for name, c := range map[string]struct {
		s           *Sealer
		place, text string
		want        string
	}{
		"no key":        {none, "tasks", sealed, "service.metadata.secrets.keyFile"},
		"another key":   {open(two, ""), "tasks", sealed, "[" + old.Current() + "]"},
		"another place": {old, "settings", sealed, "damaged"},
		"changed":       {old, "tasks", sealed[:len(sealed)-6] + "AAAA==", "damaged"},
		"cut":           {old, "tasks", sealed[:24], "damaged"},
	} {
		if got, err := c.s.Open(c.place, c.text); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(got, "stones") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct{ path, want string }{
		"missing":  {filepath.Join(t.TempDir(), "none"), "can't be read"},
		"readable": {keyFile(t, base64.StdEncoding.EncodeToString(first), 0o640), "chmod 600"},
		"short":    {keyFile(t, base64.StdEncoding.EncodeToString(first[:16]), 0o600), "contains no key"},
		"words":    {keyFile(t, "correct horse battery staple", 0o600), "contains no key"},
		"empty":    {keyFile(t, "", 0o600), "contains no key"},
	} {
		for _, s := range [][2]string{{c.path, ""}, {one, c.path}} {
			if _, err := OpenSealer(s[0], s[1]); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "horse") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
