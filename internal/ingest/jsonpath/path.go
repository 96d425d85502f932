package jsonpath

import (
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
)

// Path is a compiled JSONPath expression, in the subset of the language of Goessner and Jayway that
// flattenSpecs use:
//
//	$                    the record
//	.name ['name']       a member          ['a','b']   several
//	[0] [-1] [0,2]       elements          [1:3]       a range of them
//	.* [*]               all members or elements
//	..name ..*           at any depth
//	[?(@.a == 'x')]      elements that match (jsonpath_filter.go)
//	.length() .min() .max() .avg() .sum() .first() .last() .keys()   at the end
//
// A path that can match several values returns a list. Any other path returns its value or nil.
type Path struct {
	steps    []step
	function string
	several  bool
}

// step maps one value to those that it leads to.
type step func(root, v any, emit func(any))

// Compile parses a path.
func Compile(text string) (*Path, error) {
	p := &parser{text: text}
	path, ok := p.path('$')
	if p.problem != nil {
		return nil, p.problem
	}
	if !ok || p.at != len(p.text) {
		return nil, wire.Invalid("flattenSpec", "the path '%s' is not valid at character %d", text, p.at+1)
	}
	return path, nil
}

func (p *Path) Eval(root *record.Object) any { return p.from(root, root) }

func (p *Path) from(root, start any) any {
	found, _ := p.find(root, start)
	return found
}

// find returns what the path leads to from a value. Without a function, a path to a single value
// may lead nowhere, which is not the same as to null.
func (p *Path) find(root, start any) (result any, there bool) {
	values := []any{start}
	for _, step := range p.steps {
		var next []any
		for _, v := range values {
			step(root, v, func(found any) {
				if len(next) < maxPathResults {
					next = append(next, found)
				}
			})
		}
		values = next
	}
	switch {
	case p.several:
		there, result = true, values
		if values == nil {
			result = []any{}
		}
	case len(values) > 0:
		there, result = true, values[0]
	}
	if p.function != "" {
		return pathFunctions[p.function](result), true
	}
	return result, there
}

const (
	// maxPathResults bounds what one path finds in one record.
	maxPathResults = 100_000
	// maxPathDepth bounds the nesting of conditions in a path.
	maxPathDepth = 32
)

// parser reads a path by recursive descent.
type parser struct {
	text  string
	at    int
	depth int
	// problem is what a regular expression in the path has.
	problem error
}

func (p *parser) eat(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *parser) blanks() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// path reads a path that begins with $ or @. A path without either is one from the root, as Druid
// allows. See quirk Q012.
func (p *parser) path(start byte) (*Path, bool) {
	out := &Path{}
	if !p.eat(string(start)) {
		if start != '$' {
			return nil, false
		}
		p.text = "$." + p.text
		p.at = 1
	}
	for p.at < len(p.text) {
		switch {
		case p.eat(".."):
			out.steps = append(out.steps, descend)
			out.several = true
			if p.at < len(p.text) && p.text[p.at] == '[' {
				continue
			}
			if !p.member(out) {
				return nil, false
			}
		case p.eat("."):
			if !p.member(out) {
				return nil, false
			}
		case p.eat("["):
			if !p.brackets(out) {
				return nil, false
			}
		default:
			return out, true
		}
		if out.function != "" {
			return out, true
		}
	}
	return out, true
}

// member reads a name, *, or a function call.
func (p *parser) member(out *Path) bool {
	if p.eat("*") {
		out.steps = append(out.steps, allChildren)
		out.several = true
		return true
	}
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune(".[]() =!<>&|,'\"", rune(p.text[p.at])) {
		p.at++
	}
	name := p.text[start:p.at]
	if name == "" {
		return false
	}
	if p.eat("()") {
		_, known := pathFunctions[name]
		out.function = name
		return known
	}
	out.steps = append(out.steps, memberStep([]string{name}))
	return true
}

// brackets reads what is between [ and ].
func (p *parser) brackets(out *Path) bool {
	p.blanks()
	switch {
	case p.eat("*"):
		out.steps = append(out.steps, allChildren)
		out.several = true
	case p.eat("?("):
		cond, ok := p.anyOf()
		if !ok || !p.eat(")") {
			return false
		}
		out.several = true
		out.steps = append(out.steps, func(root, v any, emit func(any)) {
			allChildren(root, v, func(e any) {
				if cond(root, e) {
					emit(e)
				}
			})
		})
	case p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"'):
		var names []string
		for {
			name, ok := p.quoted()
			if !ok {
				return false
			}
			names = append(names, name)
			p.blanks()
			if !p.eat(",") {
				break
			}
			p.blanks()
		}
		if out.steps = append(out.steps, memberStep(names)); len(names) > 1 {
			out.several = true
		}
	default:
		if !p.indexes(out) {
			return false
		}
	}
	p.blanks()
	return p.eat("]")
}

// indexes reads 0, -1, 0,2 or 1:3.
func (p *parser) indexes(out *Path) bool {
	var list []int
	first, ok := p.integer()
	if p.eat(":") {
		lo, hi, bounded := 0, 0, false
		if ok {
			lo = first
		}
		if n, ok := p.integer(); ok {
			hi, bounded = n, true
		}
		out.several = true
		out.steps = append(out.steps, func(_, v any, emit func(any)) {
			items, _ := v.([]any)
			from, to := place(lo, len(items)), len(items)
			if bounded {
				to = min(place(hi, len(items)), len(items))
			}
			for i := max(from, 0); i < to; i++ {
				emit(items[i])
			}
		})
		return true
	}
	for ; ok; first, ok = p.integer() {
		list = append(list, first)
		p.blanks()
		if !p.eat(",") {
			break
		}
		p.blanks()
	}
	if len(list) == 0 {
		return false
	}
	out.several = out.several || len(list) > 1
	out.steps = append(out.steps, func(_, v any, emit func(any)) {
		items, _ := v.([]any)
		for _, n := range list {
			if i := place(n, len(items)); i >= 0 && i < len(items) {
				emit(items[i])
			}
		}
	})
	return true
}

// place counts negative indexes from the end.
func place(n, length int) int {
	if n < 0 {
		return n + length
	}
	return n
}

func (p *parser) integer() (int, bool) {
	start := p.at
	p.eat("-")
	for p.at < len(p.text) && p.text[p.at]-'0' <= 9 {
		p.at++
	}
	n, err := strconv.Atoi(p.text[start:p.at])
	if err != nil {
		p.at = start
	}
	return n, err == nil
}

func (p *parser) quoted() (string, bool) {
	if p.at >= len(p.text) {
		return "", false
	}
	quote := p.text[p.at]
	if quote != '\'' && quote != '"' {
		return "", false
	}
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return b.String(), true
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			b.WriteByte(p.text[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

func memberStep(names []string) step {
	return func(_, v any, emit func(any)) {
		if o, ok := v.(*record.Object); ok {
			for _, name := range names {
				if found, ok := o.Get(name); ok {
					emit(found)
				}
			}
		}
	}
}

func allChildren(_, v any, emit func(any)) {
	switch v := v.(type) {
	case *record.Object:
		for _, e := range v.Values {
			emit(e)
		}
	case []any:
		for _, e := range v {
			emit(e)
		}
	}
}

// descend gives a value and all that it holds, outermost first. Records have a depth limit.
func descend(root, v any, emit func(any)) {
	switch v.(type) {
	case *record.Object, []any:
		emit(v)
		allChildren(root, v, func(e any) { descend(root, e, emit) })
	}
}

// pathFunctions are what a path may end with.
var pathFunctions = map[string]func(any) any{
	"length": func(v any) any {
		switch v := v.(type) {
		case []any:
			return int64(len(v))
		case *record.Object:
			return int64(len(v.Names))
		case string:
			return int64(len([]rune(v)))
		}
		return nil
	},
	"min": func(v any) any { return fold(v, math.Min) },
	"max": func(v any) any { return fold(v, math.Max) },
	"sum": func(v any) any { return fold(v, func(a, b float64) float64 { return a + b }) },
	"avg": func(v any) any {
		list, _ := v.([]any)
		if sum, ok := fold(v, func(a, b float64) float64 { return a + b }).(float64); ok {
			return sum / float64(len(list))
		}
		return nil
	},
	"first": func(v any) any {
		if list, ok := v.([]any); ok && len(list) > 0 {
			return list[0]
		}
		return nil
	},
	"last": func(v any) any {
		if list, ok := v.([]any); ok && len(list) > 0 {
			return list[len(list)-1]
		}
		return nil
	},
	"keys": func(v any) any {
		o, ok := v.(*record.Object)
		if !ok {
			return nil
		}
		out := make([]any, len(o.Names))
		for i, name := range o.Names {
			out[i] = name
		}
		return out
	},
}

// fold combines the numbers of a list.
func fold(v any, f func(a, b float64) float64) any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil
	}
	var out float64
	for i, e := range list {
		n, ok := record.AsNumber(e)
		if !ok {
			return nil
		}
		if i == 0 {
			out = n.AsDouble()
		} else {
			out = f(out, n.AsDouble())
		}
	}
	return out
}
