// Package members finds misspelt members in request bodies. Package edge calls it for every body.
//
// Unknown members are ignored, as clients of Druid expect: later releases have members that this
// one does not know. A name that resembles a known member is probably a mistake, which would
// silently have no effect. Check rejects it and names the similar member. The known names, by
// families of endpoints, come from the packages that read the bodies (vocabulary.json, which `go
// run ./gen` collects; a test fails if the file is out of date). Check skips objects whose names
// users choose. See quirk Q012.
package members

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

//go:embed vocabulary.json
var vocabularyText []byte

// MaxBytes is how large a body may be that is looked at.
const MaxBytes = 4 << 20

// family is what is known of the bodies of some endpoints.
type family struct {
	known map[string]bool
	names []string
	// chosen is how many levels of objects have names that users choose.
	chosen int
}

var families = sync.OnceValue(func() map[string]*family {
	var lists map[string][]string
	if err := json.Unmarshal(vocabularyText, &lists); err != nil {
		panic(fmt.Sprintf("vocabulary.json is not what gen writes: %v", err))
	}
	out := map[string]*family{}
	for name, list := range lists {
		out[name] = newFamily(list)
	}
	out["context"] = newFamily(querycontext.Names())
	of := *out["settings"]
	of.chosen = 2
	out["lookups"] = &of
	return out
})

func newFamily(names []string) *family {
	f := &family{known: make(map[string]bool, len(names)), names: names}
	for _, n := range names {
		f.known[n] = true
	}
	return f
}

// endpoints says of which family bodies are, by their paths. The first that fits counts; "" is for
// those that are not looked at. A path that ends with * stands for those below it, too.
var endpoints = []struct{ path, family string }{
	{"/service/v2/sql/avatica*", ""},
	{"/service/v2/sql*", "sql"},
	{"/service/v2/ingest*", ""},
	{"/service/v2", "native"},
	{"/service/v2/candidates", "native"},
	{"/service/indexer/v1/task", "spec"},
	{"/service/indexer/v1/sampler", "spec"},
	{"/service/indexer/v1/supervisor", "spec"},
	{"/service/indexer/v1/worker", "settings"},
	{"/service/indexer/v1/compaction*", "spec"},
	{"/service/coordinator/v1/config/compaction*", "spec"},
	{"/service/coordinator/v1/config", "settings"},
	{"/service/coordinator/v1/rules*", "settings"},
	{"/service/coordinator/v1/datasources*", "settings"},
	{"/service/coordinator/v1/lookups/config", "lookups"},
	{"/service/coordinator/v1/lookups/config*", "settings"},
}

// familyOf returns the family of the bodies of a path, nil if they are not looked at.
func familyOf(path string) *family {
	path = strings.TrimRight(path, "/")
	for _, e := range endpoints {
		prefix, below := strings.CutSuffix(e.path, "*")
		if path == prefix || below && strings.HasPrefix(path, prefix+"/") {
			return families()[e.family]
		}
	}
	return nil
}

// Looks reports whether bodies of a path are looked at.
func Looks(path string) bool { return familyOf(path) != nil }

// free are members with objects whose names users choose.
var free = map[string]bool{
	"map": true, "consumerProperties": true, "properties": true, "dynamicConfigProvider": true, "config": true, "headers": true,
	"requestHeaders": true, "tieredReplicants": true, "affinity": true, "categoryMap": true, "categoryAffinity": true, "labels": true,
	"partitionSequenceNumberMap": true, "partitionOffsetMap": true, "schema": true, "schemas": true, "metadata": true, "rows": true,
	"data": true, "value": true, "values": true, "loadSpec": true, "historicalsToClone": true, "turboLoadingNodes": true, "urls": true,
	"tags": true, "attributes": true, "extraProperties": true, "taskContext": true, "startPartitions": true, "endPartitions": true,
	"checkpoints": true, "versions": true, "serverPriorityToReplicas": true, "baseSequenceName": true, "columnFormats": true,
	"mappings": true, "statistics": true, "debug": true, "analysisTypes": true, "toMerge": true, "compactionState": true,
}

// other are names that documents of Druid have, and nothing reads. See quirk Q012.
var other = map[string]bool{"case_sensitive": true}

// Check returns an error if a member of a body is almost one that is known there. Of what is not
// JSON it says nothing: who reads it does.
func Check(path string, body []byte) error {
	f := familyOf(path)
	if f == nil {
		return nil
	}
	w := &walk{text: body}
	w.value(f, "", f.chosen)
	return w.found
}

// walk goes through a JSON text.
type walk struct {
	text  []byte
	at    int
	depth int
	found error
}

// maxDepth is how deep objects are looked at.
const maxDepth = 200

func (w *walk) blanks() byte {
	for ; w.at < len(w.text); w.at++ {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value passes the value at hand, whose member is called within, and reports whether it is one. f
// is nil where names are not looked at.
func (w *walk) value(f *family, within string, chosen int) bool {
	switch w.blanks() {
	case '{':
		return w.object(f, within, chosen)
	case '[':
		w.at++
		if w.blanks() == ']' {
			w.at++
			return true
		}
		for w.deeper() {
			if !w.value(f, within, chosen) {
				return false
			}
			w.depth--
			switch w.blanks() {
			case ',':
				w.at++
			case ']':
				w.at++
				return true
			default:
				return false
			}
		}
		return false
	case '"':
		_, ok := w.str()
		return ok
	case 0, '}', ']', ',', ':':
		return false
	}
	for w.at < len(w.text) && strings.IndexByte(" \t\r\n,]}", w.text[w.at]) < 0 {
		w.at++
	}
	return true
}

func (w *walk) deeper() bool {
	w.depth++
	return w.depth < maxDepth
}

func (w *walk) object(f *family, within string, chosen int) bool {
	w.at++
	if w.blanks() == '}' {
		w.at++
		return true
	}
	for w.deeper() {
		if w.blanks() != '"' {
			return false
		}
		name, ok := w.str()
		if !ok || w.blanks() != ':' {
			return false
		}
		w.at++
		inside, left := f, 0
		switch {
		case f == nil:
		case chosen > 0:
			left = chosen - 1
		case within == "context" || !f.known[name]:
			w.judge(f, within, name)
			inside = nil
		case free[name]:
			inside = nil
		case name == "context":
			inside = families()["context"]
		}
		if w.found != nil || !w.value(inside, name, left) {
			return false
		}
		w.depth--
		switch w.blanks() {
		case ',':
			w.at++
		case '}':
			w.at++
			return true
		default:
			return false
		}
	}
	return false
}

// judge refuses a name that is almost a known one.
func (w *walk) judge(f *family, within, name string) {
	const shortest = 5 // of a short name every other is a near one
	// _x and x_ are put aside.
	if len(name) < shortest || f.known[name] || other[name] || name[0] == '_' || name[len(name)-1] == '_' {
		return
	}
	near := fault.NearestWithin(name, f.names, max(1, min(len(name)/5, 3)))
	if near == "" {
		return
	}
	where := "the body"
	if within != "" {
		where = "[" + within + "]"
	}
	w.found = fault.InvalidInput("Member [%s] of %s is unknown. Did you mean [%s]?", name, where, near)
}

// str reads the string at hand.
func (w *walk) str() (string, bool) {
	start := w.at + 1
	for i := start; i < len(w.text); i++ {
		switch w.text[i] {
		case '\\':
			i++
		case '"':
			w.at = i + 1
			return string(w.text[start:i]), true
		}
	}
	return "", false
}
