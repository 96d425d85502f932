package ingest

import (
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/jsonpath"
	"github.com/hengedb/henge/internal/ingest/record"
)

const filtered = `{"limit":5,"allowed":["a","c"],"rows":[
	{"k":"a","n":5,"tags":["x","y"],"o":{}},
	{"k":"bb","n":"5","tags":[],"o":{"p":1},"nul":null},
	{"k":"c","n":5.0,"tags":["z",1],"ok":true},
	{"k":"Abc/d","n":7.25,"tags":["x"],"deep":[{"p":1},[2]]},
	{"k":"","n":null,"tags":"x"}]}`

// What comes is what Jayway's JsonPath 2.9 gives.
func TestJSONPathFilters(t *testing.T) {
	for filter, want := range map[string]string{
		// Regular expressions match wholly, with the flags of Java; either side may have the pattern.
		`@.k =~ /b+/`:             `["bb"]`,
		`@.k =~ /b/`:              `[]`,
		`@.k =~ /ABC.*/i`:         `["Abc/d"]`,
		`@.k=~/.*\/d/`:            `["Abc/d"]`,
		`/a|c/ =~ @.k`:            `["a","c"]`,
		`@.n =~ /5/`:              `["a","bb"]`,
		`@.n =~ /[0-9]+\.[0-9]+/`: `["c","Abc/d"]`,
		`@.ok =~ /true/`:          `["c"]`,
		`@.tags =~ /x/`:           `["a","Abc/d",""]`,
		`@.nosuch =~ /x*/`:        `["a","bb","c","Abc/d",""]`, // nothing has the text ''
		`@.k =~ 'b+'`:             `[]`,
		`@.k =~ /(?=bb)b*/`:       `["bb"]`,
		// Lists of constants and of the record.
		`@.k in ['a', 'bb']`:        `["a","bb"]`,
		`@.k IN ["c"]`:              `["c"]`,
		`@.k in $.allowed`:          `["a","c"]`,
		`@.n in [5, 7.25]`:          `["a","bb","c","Abc/d"]`, // the text '5' equals the number
		`@.n in ['5']`:              `["a","bb","c"]`,         // and 5.0 the text, as a number
		`@.n in [null]`:             `[""]`,
		`@.nosuch in [null]`:        `[]`,
		`'x' in @.tags`:             `["a","Abc/d"]`,
		`@.k in 'a'`:                `[]`,
		`@.k nin ['a', 'bb', '']`:   `["c","Abc/d"]`,
		`@.k nin 'a'`:               `["a","bb","c","Abc/d",""]`,
		`@.nosuch nin ['a']`:        `["a","bb","c","Abc/d",""]`,
		`!(@.k in ['a'])`:           `["bb","c","Abc/d",""]`,
		`@.tags subsetof ['x','y']`: `["a","bb","Abc/d"]`,
		`@.tags subsetof $.allowed`: `["bb"]`,
		`@.tags subsetof 'x'`:       `[]`,
		`['x'] subsetof @.tags`:     `["a","Abc/d"]`,
		`@.tags anyof ['y','z']`:    `["a","c"]`,
		`@.tags anyof ['1']`:        `["c"]`,
		`@.tags noneof ['y','z']`:   `["bb","Abc/d"]`,
		`@.nosuch noneof ['y']`:     `[]`,
		`@.tags all ['x','y']`:      `["a"]`,
		`@.tags contains 'z'`:       `["c"]`,
		`@.k contains 'b'`:          `["bb","Abc/d"]`,
		`@.deep contains [2]`:       `["Abc/d"]`,
		`@.deep contains {p: 1}`:    `["Abc/d"]`,
		// Sizes.
		`@.tags size 2`:     `["a","c"]`,
		`@.tags size 1`:     `["Abc/d",""]`, // of a text its length
		`@.tags size '2'`:   `[]`,
		`@.k size $.limit`:  `["Abc/d"]`,
		`@.tags empty true`: `["bb"]`,
		`@.k empty true`:    `[""]`,
		`@.o empty true`:    `["a"]`,
		`@.o empty false`:   `["bb"]`,
		`@.n empty true`:    `[]`,
		// Equality, and what is there.
		`@.n == 5`:                      `["a","bb","c"]`,
		`@.n == '5'`:                    `["a","bb","c"]`,
		`@.n === 5`:                     `["a","c"]`,
		`@.n === '5'`:                   `["bb"]`,
		`@.n !== 5`:                     `["bb","Abc/d",""]`,
		`@.n == null`:                   `[""]`,
		`@.nosuch == null`:              `[]`,
		`@.nosuch != null`:              `["a","bb","c","Abc/d",""]`,
		`@.nul`:                         `["bb"]`,
		`!@.nul`:                        `["a","c","Abc/d",""]`,
		`@.tags == ['x','y']`:           `["a"]`,
		`@.o == {"p":1}`:                `["bb"]`,
		`@.n < 6`:                       `["a","c"]`,
		`@.k > 'b'`:                     `["bb","c"]`,
		`@.ok <= true`:                  `[]`,
		`@.in == 1 || @.k == 'a'`:       `["a"]`,
		`@.k in ['a'] && @.tags size 2`: `["a"]`,
	} {
		p, err := jsonpath.Compile("$.rows[?(" + filter + ")].k")
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := string(record.AppendJSON(nil, p.Eval(parsed(t, filtered)))); got != want {
			t.Errorf("%s gives %s, want %s", filter, got, want)
		}
	}
	for _, filter := range []string{"@.k =~ /(/", "@.k =~ /a", "@.k in [", "@.k in ['a'", "@.k in", "@.k inn ['a']", "@.k like 'a'",
		"@.k size", "in ['a']"} {
		if _, err := jsonpath.Compile("$.rows[?(" + filter + ")]"); fault.Find(err) == nil {
			t.Errorf("%s was accepted: %v", filter, err)
		}
	}
}
