package basic

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern matches whole names of resources in linear time. Most patterns are a name or the
// beginning of one; those need no automaton.
type pattern struct {
	// exact, prefix: one of them is set if there is no automaton.
	exact, prefix string
	form          form
	// starts, ends and within are what each name that matches begins with, ends with and has, which is
	// looked at first.
	starts, ends, within string
	automaton            *regexp.Regexp
}

type form uint8

const (
	anyName form = iota // .*
	exactName
	prefixName // name.*
	automatonName
)

// compile reads a pattern. It takes the regular expressions of Java as far as they need no
// backtracking and mean the same here: what would mean something else is refused.
func compile(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it has [%d] bytes; [%d] are allowed", len(text), maxPattern)
	}
	if text == ".*" {
		return &pattern{form: anyName}, nil
	}
	if plain(text) {
		return &pattern{form: exactName, exact: text}, nil
	}
	if before, found := strings.CutSuffix(text, ".*"); found && plain(before) {
		return &pattern{form: prefixName, prefix: before}, nil
	}
	if err := refuseJava(text); err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	// Not by putting the text between "^(?:" and ")$": it may not close what it opens.
	p := &pattern{form: automatonName}
	p.starts, p.ends, p.within = literals(parsed.Simplify())
	p.automaton, err = regexp.Compile(`\A(?:` + parsed.String() + `)\z`)
	return p, err
}

// plain reports whether a text stands for itself.
func plain(text string) bool { return !strings.ContainsAny(text, `\^$.|?*+()[]{}`) }

// matches tells whether the whole of a name matches.
func (p *pattern) matches(name string) bool {
	switch p.form {
	case anyName:
		return !strings.Contains(name, "\n") // "." is no line break, as everywhere
	case exactName:
		return name == p.exact
	case prefixName:
		return strings.HasPrefix(name, p.prefix) && !strings.Contains(name[len(p.prefix):], "\n")
	}
	return strings.HasPrefix(name, p.starts) && strings.HasSuffix(name, p.ends) && strings.Contains(name, p.within) &&
		p.automaton.MatchString(name)
}

// literals returns what every match begins with, ends with and has, as far as it is seen at once.
func literals(r *syntax.Regexp) (starts, ends, within string) {
	literal := func(r *syntax.Regexp) string {
		if r.Op == syntax.OpLiteral && r.Flags&syntax.FoldCase == 0 {
			return string(r.Rune)
		}
		return ""
	}
	if r.Op != syntax.OpConcat {
		return literal(r), literal(r), ""
	}
	for _, part := range r.Sub[1 : len(r.Sub)-1] {
		if text := literal(part); len(text) > len(within) {
			within = text
		}
	}
	return literal(r.Sub[0]), literal(r.Sub[len(r.Sub)-1]), within
}

// refuseJava refuses what Java reads in another way than we do: a class within a class, or what two
// classes have in common. Both are read as plain characters here.
func refuseJava(text string) error {
	in := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && strings.HasPrefix(text[i:], `\Q`):
			end := strings.Index(text[i:], `\E`)
			if end < 0 {
				return nil
			}
			i += end + 1
		case c == '\\':
			i++
		case in && c == '[':
			return errors.New("a character class within a character class is not supported")
		case in && c == '&' && strings.HasPrefix(text[i:], "&&"):
			return errors.New("an intersection of character classes is not supported")
		case c == '[':
			in = true
			if strings.HasPrefix(text[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(text[i+1:], "]") { // which Java takes for the end of nothing, and we for a member
				return errors.New("an empty character class is not supported")
			}
		case in && c == ']':
			in = false
		}
	}
	return nil
}
