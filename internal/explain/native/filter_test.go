package native

import "testing"

// With sqlUseBoundAndSelectors, what several selectors say of one column is a list of texts behind
// the others.
func TestSelectorsOfOneColumnAreAList(t *testing.T) {
	one := func(column, value string) object { return obj("type", "selector", "dimension", column, "value", value) }
	part := obj("type", "selector", "dimension", "i", "value", "7", "extractionFn", obj("type", "substring", "index", 0, "length", 1))
	got, err := marshal(joined("or", listed([]object{one("i", "2"), one("s", "a"), one("i", "1"), part})))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"or","fields":[{"type":"selector","dimension":"s","value":"a"},` +
		`{"type":"selector","dimension":"i","value":"7","extractionFn":{"type":"substring","index":0,"length":1}},` +
		`{"type":"in","dimension":"i","values":["1","2"]}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What was met is known again by what it says.
func TestFiltersThatComeAgain(t *testing.T) {
	met := objects{}
	for i, o := range []object{obj("type", "true"), obj("type", "selector", "value", "1"), obj("type", "selector", "value", int64(1)), obj("type", "not", "field", obj("type", "true"))} {
		if met.again(o) {
			t.Errorf("number %d was not met", i)
		}
		if !met.again(o) {
			t.Errorf("number %d was met", i)
		}
	}
}
