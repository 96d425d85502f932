package jsontext

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Unmarshal is json.Unmarshal for what a client wrote: a member is the one that its name is, letter
// by letter. encoding/json takes "Limit" for "limit", too, where Druid sees an unknown member,
// which means nothing. See quirk Q012.
func Unmarshal(text []byte, into any) error { return json.Unmarshal(Exact(text, into), into) }

// Exact returns text so that encoding/json reads no member into the value whose name is another's
// but for the case: such names are changed to ones that nothing has, which are as long, so that
// places in text stay. Parts that read themselves are left to themselves. So are members changed
// that are an empty text where a number or a truth value may be left out: that is none, as in
// Druid. See quirk Q012.
func Exact(text []byte, into any) []byte {
	e := exact{text: string(text)}
	e.value(0, reflect.TypeOf(into).Elem())
	if len(e.inexact) == 0 {
		return text
	}
	text = slices.Clone(text)
	for _, at := range e.inexact {
		text[at] = unread
	}
	return text
}

// unread begins the names that are not to be read: no name of a member begins so.
const unread = '!'

// exact finds names in a text.
type exact struct {
	text    string
	inexact []int // where the names begin that are not to be read
}

// value looks at the value that begins at i and is read into a type.
func (e *exact) value(i int, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if i = Space(e.text, i); i >= len(e.text) || readsItself(t) {
		return
	}
	end := 0
	switch opening := e.text[i]; {
	case opening == '{' && t.Kind() == reflect.Struct:
		members := membersOf(t)
		Members(e.text, i, 0, func(key string, from, to int) bool {
			name := Text(key)
			switch into, ok := members[name]; {
			case ok && !(e.text[from:to] == `""` && isOptionalScalar(into)):
				e.value(from, into)
			case ok || anyFold(members, name):
				e.inexact = append(e.inexact, strings.LastIndex(e.text[:from], key)+1)
			}
			return true
		}, &end)
	case opening == '{' && t.Kind() == reflect.Map, opening == '[' && t.Kind() == reflect.Slice:
		Members(e.text, i, 0, func(_ string, from, _ int) bool {
			e.value(from, t.Elem())
			return true
		}, &end)
	}
}

// isOptionalScalar reports whether a type is that of a number or a truth value that may be left
// out.
func isOptionalScalar(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() >= reflect.Bool && t.Elem().Kind() <= reflect.Float64
}

func anyFold(members map[string]reflect.Type, name string) bool {
	for m := range members {
		if strings.EqualFold(m, name) {
			return true
		}
	}
	return false
}

var (
	readers      = []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
	knownMembers sync.Map // reflect.Type to map[string]reflect.Type
)

func readsItself(t reflect.Type) bool {
	return slices.ContainsFunc(readers, func(reader reflect.Type) bool { return reflect.PointerTo(t).Implements(reader) })
}

// membersOf returns the members that encoding/json reads into a struct, and the types of what they
// are read into.
func membersOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := knownMembers.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	members := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Anonymous && name == "":
			continue
		case name == "":
			name = f.Name
		}
		members[name] = f.Type
	}
	knownMembers.Store(t, members)
	return members
}
