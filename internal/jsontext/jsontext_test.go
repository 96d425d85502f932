package jsontext

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func TestPathsOfNamesAreWrittenInOneWay(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"", "$"}, {"$", "$"}, {"$.", "$"},
		{"$.a", "$.a"}, {"$['a']", "$.a"}, {`$["a"]`, "$.a"},
		{"$.a.b", "$.a.b"}, {"$.a['b']", "$.a.b"}, {"$['a.b']", "$['a.b']"}, {`$["a'b"]`, "$['a'b']"}, {"$['']", "$['']"},
		{"$.a b", "$.a b"}, {"$.['a']", ""}, {"$[0]", ""}, {"$.a[-1].b", ""}, {`$["a']b"]`, ""}, {"a", ""}, {"$.a..b", ""},
	} {
		got := ""
		if p, err := ParsePath(c.path); err == nil {
			got, _ = p.Members()
		}
		if got != c.want {
			t.Errorf("%s is written [%s], want [%s]", c.path, got, c.want)
		}
	}
}

// TestPathsMeanTheNamesTheyAreMadeOf: a path that Child makes of names that are Nameable leads
// through exactly these.
func TestPathsMeanTheNamesTheyAreMadeOf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		path, names := "$", []string{}
		for range random.IntN(4) {
			name := make([]byte, random.IntN(5))
			for i := range name {
				name[i] = `ab.'"[]\ $`[random.IntN(10)]
			}
			if !Nameable(string(name)) {
				continue
			}
			path, names = Child(path, string(name)), append(names, string(name))
		}
		p, err := ParsePath(path)
		if err != nil {
			t.Fatalf("%q of %q: %v", path, names, err)
		}
		var got []string
		for _, step := range p {
			got = append(got, step.name)
		}
		if !slices.Equal(got, names) {
			t.Fatalf("%q of %q leads through %q", path, names, got)
		}
		if again, ok := p.Members(); !ok || again != path {
			t.Fatalf("%q is written %q", path, again)
		}
	}
}

func TestNumbersAreWholeOrNot(t *testing.T) {
	for _, raw := range []string{"0", "-0", "7", "-12", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "99999999999999999999", "1.0", "1e3", "-1.5E-7", "1e400", "-1e400", "0.1"} {
		long, double, whole := Number(raw)
		wantLong, err := strconv.ParseInt(raw, 10, 64)
		if whole != (err == nil) || whole && long != wantLong {
			t.Errorf("%s is whole: %t, %d", raw, whole, long)
		}
		if want, _ := strconv.ParseFloat(raw, 64); !whole && double != want {
			t.Errorf("%s is %v, want %v", raw, double, want)
		}
	}
}

func TestFirst(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`1 2`, `1`}, {` {"a":1} x`, `{"a":1}`}, {`"a"b`, `"a"`}, {`[1]]`, `[1]`}, {`true false`, `true`}, {`true,`, `true`}, {"1.5\tGB", `1.5`}, {`-2e3`, `-2e3`},
		{`12a`, ``}, {`1]`, ``}, {`1,2`, ``}, {`2020-02-29`, ``}, {`truex`, ``}, {`true1`, ``}, {`null_`, ``}, {`1e`, ``}, {``, ``}, {` `, ``}, {`{x:1}`, ``},
	} {
		got, ok := First(c.text)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("First(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x",null,{"k":true}]}`, `{"a":1,"a":2}`, ` [ 1 , {} ] `, `{"":{}}`, `{"a" 1}`, `[1,`, `"\ud83d\ude00"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, ok := Valid(s)
		if ok && !json.Valid([]byte(s)) {
			t.Fatalf("%q is taken for JSON", s)
		}
		if !ok || text[0] != '{' {
			return
		}
		end := -1
		if !Members(text, 0, 0, func(key string, from, to int) bool {
			if _, ok := Valid(text[from:to]); !ok {
				t.Fatalf("member %s of %q is no JSON", key, text)
			}
			name := Text(key)
			if raw, ok := (Path{Named(name)}).Find(text); !ok || raw == "" {
				t.Fatalf("member %s of %q is not found", key, text)
			}
			return true
		}, &end) || end != len(text) {
			t.Fatalf("object %q ends at %d", text, end)
		}
	})
}
