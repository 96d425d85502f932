package expr

import (
	"strings"
	"time"

	"github.com/hengedb/henge/internal/javaregex"
)

// Pattern requires a constant pattern as argument i.
func (b *Binding) Pattern(i int) {
	text := b.ConstantText(i, "pattern")
	if b.Err == nil {
		_, b.Err = javaregex.Compile(text, b.Fn.Name, time.Second)
	}
}

// LiteralPattern rejects a literal that is not a valid pattern; other patterns are checked at run
// time.
func (b *Binding) LiteralPattern(i int) {
	if b.Err != nil {
		return
	}
	if x, ok := LiteralValue(b.Args[i]); ok {
		_, b.Err = javaregex.Compile(x.(string), b.Fn.Name, time.Second)
	}
}

// LastPattern caches the last pattern, which is usually the same for all rows.
type LastPattern struct {
	Function string // which messages name
	Context  *Context
	text     string
	compiled *javaregex.Pattern
}

// Of returns the pattern for a string.
func (l *LastPattern) Of(text string) (*javaregex.Pattern, error) {
	if l.compiled != nil && text == l.text {
		return l.compiled, nil
	}
	text = strings.Clone(text) // the next batch may come from another segment
	compiled, err := javaregex.Compile(text, l.Function, l.Context.patternTime())
	if err == nil {
		compiled.Stopped = l.Context.Stopped
		l.text, l.compiled = text, compiled
	}
	return compiled, err
}

// PatternOf compiles constant argument i, which binding has validated as a pattern.
func PatternOf(c *Call, i int, ctx *Context) (*javaregex.Pattern, error) {
	x, _ := LiteralValue(c.Args[i])
	s, _ := x.(string)
	p, err := javaregex.Compile(s, c.Fn.Name, ctx.patternTime())
	if err == nil {
		p.Stopped = ctx.Stopped
	}
	return p, err
}
