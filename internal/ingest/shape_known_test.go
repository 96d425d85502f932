package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/stream"
)

// randomJSON is a value of some kind.
func randomJSON(r *rand.Rand, depth int) string {
	kinds := 10
	if depth == 0 {
		kinds = 7
	}
	switch r.IntN(kinds) {
	case 0:
		return "null"
	case 1:
		return "true"
	case 2:
		return fmt.Sprint(r.IntN(100))
	case 3:
		return fmt.Sprintf("%d.5", r.IntN(100))
	case 4:
		return fmt.Sprintf(`"%d"`, r.IntN(100))
	case 5:
		return `"te\u0078t"`
	case 6:
		return "12345678901234567890"
	case 7:
		return `{"k":` + randomJSON(r, depth-1) + `}`
	}
	var list []string
	for range r.IntN(3) {
		list = append(list, randomJSON(r, depth-1))
	}
	return "[ " + strings.Join(list, ",") + "]"
}

// What a shape learns does not depend on whether records are looked at twice: scanned, where they
// show nothing new, or parsed, each of them.
func TestNothingNewIsMissed(t *testing.T) {
	const names = "abcdefgh"
	columns := "a string b mv c long d COMPLEX<json> e double[] f long[]"
	columns = strings.NewReplacer("double[]", "ARRAY<DOUBLE>", "long[]", "ARRAY<LONG>").Replace(columns)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		scanned, parsed := &Shape{}, &Shape{}
		one := messagesOf(t, `{"type":"json"}`, columns, &Options{Shape: scanned})
		all := &jsonObjects{}
		var texts []string
		for range 12 {
			var members []string
			for _, name := range names {
				if r.IntN(3) > 0 {
					members = append(members, fmt.Sprintf("%q:%s", string(name), randomJSON(r, 2)))
				}
			}
			texts = append(texts, "{"+strings.Join(members, ",")+"}")
		}
		for i, text := range texts {
			if i%4 == 3 { // what one has learnt the next one knows
				one = messagesOf(t, `{"type":"json"}`, columns, &Options{Shape: scanned})
			}
			if _, err := one.Decode(context.Background(), []stream.Record{{Value: []byte(text)}}); err != nil {
				t.Fatal(err)
			}
			all.objects(chunk{data: []byte(text)}, func(rec Record) { parsed.Add(rec.Object) })
			if d := cmp.Diff(parsed.Names(), scanned.Names()); d != "" {
				t.Fatalf("%s: %s", strings.Join(texts[:i+1], "\n"), d)
			}
			for k, name := range parsed.Names() {
				want, got := kept(parsed.kinds[k].traits()), kept(scanned.kinds[k].traits())
				if want != got {
					t.Fatalf("field [%s] has [%b], want [%b], of\n%s", name, got, want, strings.Join(texts[:i+1], "\n"))
				}
			}
		}
	}
}

// kept is what matters of traits: where objects, or lists of lists or objects, were met, a field is
// of anything, and what else its lists hold changes nothing.
func kept(has traits) traits {
	const nested = someObject<<ofElements | someList<<ofElements
	if has&(someObject|nested) != 0 {
		has &= 1<<ofElements - 1
		has |= someObject
	}
	return has
}

func TestFieldsOfCSVAreObservedOnce(t *testing.T) {
	shape := &Shape{}
	m := messagesOf(t, `{"type":"csv","columns":["a","b","c"],"listDelimiter":"|"}`, "a mv", &Options{Shape: shape})
	decodeMessages(t, m, []byte("x,,"), []byte("y,,1"), []byte("p|q,z,"), []byte("w"))
	for name, want := range map[string]traits{
		"a": someField | someText | someList | someFlat | (someField|someText)<<ofElements,
		"b": someField | someText, "c": someField | someText | someNumeral,
	} {
		if got := shape.Of(name).traits(); got != want {
			t.Errorf("[%s] has [%b], want [%b]", name, got, want)
		}
	}
}
