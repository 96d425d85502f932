package kerberos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// rules make short names of principals: the first one that fits does.
type rules struct {
	realm string // of DEFAULT
	list  []rule
}

// rule is RULE:[n:format](match)s/from/to/g, or DEFAULT.
type rule struct {
	isDefault bool
	parts     int
	format    string
	match     *regexp.Regexp // nil: any
	from      *regexp.Regexp // nil: nothing is replaced
	to        string
	all       bool
	lower     bool
}

var (
	ruleShape  = regexp.MustCompile(`^RULE:\[(\d+):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?(/L)?$`)
	reference  = regexp.MustCompile(`\$(\d)`)
	simpleName = regexp.MustCompile(`^[^/@]+$`)
)

// parseRules reads rules, one a line or with blanks between them.
func parseRules(text, realm, property string) (*rules, error) {
	r := &rules{realm: realm}
	wrong := func(word, why string) error {
		return fault.InvalidInput("Rule [%s] of setting [%s] can't be used: %s", word, property, why)
	}
	for word := range strings.FieldsSeq(text) {
		if word == "DEFAULT" {
			r.list = append(r.list, rule{isDefault: true})
			continue
		}
		m := ruleShape.FindStringSubmatch(word)
		if m == nil {
			return nil, wrong(word, "it has neither the form [RULE:[n:string](regexp)s/pattern/replacement/g] nor is it [DEFAULT]")
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > 9 {
			return nil, wrong(word, "the number of parts of a principal is from 1 to 9")
		}
		out := rule{parts: n, format: m[2], all: m[6] != "", lower: m[7] != ""}
		for _, ref := range reference.FindAllStringSubmatch(m[2], -1) {
			if at, _ := strconv.Atoi(ref[1]); at > n {
				return nil, wrong(word, "it names a part that the principal does not have")
			}
		}
		if m[3] != "" {
			if out.match, err = regexp.Compile("^(?:" + m[3] + ")$"); err != nil {
				return nil, wrong(word, "its condition is not a regular expression")
			}
		}
		if strings.Contains(word, "s/") && m[4] != "" {
			if out.from, err = regexp.Compile(m[4]); err != nil {
				return nil, wrong(word, "its pattern is not a regular expression")
			}
			out.to = reference.ReplaceAllString(m[5], "$${$1}")
		}
		r.list = append(r.list, out)
	}
	if len(r.list) == 0 {
		r.list = []rule{{isDefault: true}}
	}
	return r, nil
}

// short returns the short name of a principal, given by its parts.
func (r *rules) short(parts []string, realm string) (string, error) {
	for i := range r.list {
		if name, fits := r.list[i].apply(parts, realm, r.realm); fits {
			if !simpleName.MatchString(name) {
				return "", fmt.Errorf("the rules map it to [%s], which is not a short name", name)
			}
			return name, nil
		}
	}
	return "", fmt.Errorf("no rule is about it")
}

func (r *rule) apply(parts []string, realm, own string) (string, bool) {
	if r.isDefault {
		return parts[0], realm == own
	}
	if len(parts) != r.parts {
		return "", false
	}
	name := reference.ReplaceAllStringFunc(r.format, func(ref string) string {
		if at := int(ref[1] - '0'); at > 0 {
			return parts[at-1]
		}
		return realm
	})
	if r.match != nil && !r.match.MatchString(name) {
		return "", false
	}
	if r.from != nil {
		if r.all {
			name = r.from.ReplaceAllString(name, r.to)
		} else if at := r.from.FindStringSubmatchIndex(name); at != nil {
			name = name[:at[0]] + string(r.from.ExpandString(nil, r.to, name, at)) + name[at[1]:]
		}
	}
	if r.lower {
		name = strings.ToLower(name)
	}
	return name, true
}
