package expr

import "time"

// LinePattern is a pattern of java.util.regex that is held against whole texts, for input whose rows it takes apart. It is used by one
// goroutine at a time.
type LinePattern struct {
	p *javaPattern
	// Groups is how many groups the pattern has.
	Groups int
}

// CompileLines compiles a pattern; user names who gave it, in faults. A match that takes longer than timeout fails.
func CompileLines(pattern, user string, timeout time.Duration) (*LinePattern, error) {
	p, err := compileRegex(pattern, user, timeout, func(n *regexNode) *regexNode {
		return &regexNode{kind: regexSequence, parts: []*regexNode{{kind: regexBegin}, n, {kind: regexEnd}}}
	})
	if err != nil {
		return nil, err
	}
	if p.needsSlow("") {
		if err := p.compileSlow(); err != nil {
			return nil, err
		}
	}
	return &LinePattern{p, p.groups}, nil
}

// Match returns the groups of a text that the pattern matches wholly, nil for those that took no part, and nil for any other text.
func (l *LinePattern) Match(text string) ([]*string, error) {
	out := make([]*string, l.Groups)
	if !l.p.needsSlow(text) {
		at := l.p.std.FindStringSubmatchIndex(text)
		if at == nil {
			return nil, nil
		}
		for g := range out {
			if from, to := at[2*g+2], at[2*g+3]; from >= 0 {
				s := text[from:to]
				out[g] = &s
			}
		}
		return out, nil
	}
	if err := l.p.compileSlow(); err != nil {
		return nil, err
	}
	m, err := l.p.slow.FindStringMatch(text)
	if err != nil || m == nil {
		return nil, l.p.late(err)
	}
	for g := range out {
		if group := m.GroupByNumber(g + 1); group != nil && len(group.Captures) > 0 {
			s := group.String()
			out[g] = &s
		}
	}
	return out, nil
}
