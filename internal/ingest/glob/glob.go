package glob

import (
	"regexp"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Compile returns the matcher of a pattern: * and ? do not match a slash, ** does, [..] is a set
// and {a,b} are alternatives.
func Compile(pattern string) (func(string) bool, error) {
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if strings.HasPrefix(pattern[i:], "**/") {
				re.WriteString(`(?:.*/)?`)
				i += 2
			} else if strings.HasPrefix(pattern[i:], "**") {
				re.WriteString(`.*`)
				i++
			} else {
				re.WriteString(`[^/]*`)
			}
		case '?':
			re.WriteString(`[^/]`)
		case '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 1 {
				return nil, badGlob(pattern)
			}
			set := pattern[i+1 : i+1+end]
			re.WriteByte('[')
			if set[0] == '!' || set[0] == '^' {
				re.WriteByte('^')
				set = set[1:]
			}
			re.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(set))
			re.WriteByte(']')
			i += end + 1
		case '{':
			re.WriteString(`(?:`)
			braces++
		case '}':
			if braces--; braces < 0 {
				return nil, badGlob(pattern)
			}
			re.WriteByte(')')
		case ',':
			if braces > 0 {
				re.WriteByte('|')
			} else {
				re.WriteByte(',')
			}
		case '\\':
			if i++; i == len(pattern) {
				return nil, badGlob(pattern)
			}
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			if c < 0x80 {
				re.WriteString(regexp.QuoteMeta(string(rune(c))))
			} else {
				re.WriteByte(c)
			}
		}
	}
	re.WriteString(`\z`)
	compiled, err := regexp.Compile(re.String())
	if err != nil || braces != 0 {
		return nil, badGlob(pattern)
	}
	return compiled.MatchString, nil
}

func badGlob(pattern string) error {
	return fault.InvalidInput("Filter [%s] is not a valid pattern of file names", pattern)
}
