package main

import "strings"

// splitStatements cuts a text at the semicolons that stand outside of quotes and comments. Leading SET statements stay with the
// statement they precede, as one request holds both.
func splitStatements(text string) []string {
	var out []string
	start, setOpen := 0, false
	scan(text, func(i int) {
		part := text[start : i+1]
		bare := strings.TrimSpace(stripComments(part))
		if strings.HasPrefix(strings.ToUpper(bare), "SET ") && strings.Count(bare, ";") == 1 || setOpen && isSetList(bare) {
			setOpen = true
			return
		}
		if strings.TrimSpace(strings.TrimSuffix(bare, ";")) != "" {
			out = append(out, strings.TrimRight(strings.TrimSpace(part), "; \n\t"))
		}
		start, setOpen = i+1, false
	})
	if rest := strings.TrimSpace(text[start:]); strings.TrimSpace(stripComments(rest)) != "" {
		out = append(out, rest)
	}
	return out
}

// isSetList reports whether text is nothing but SET statements.
func isSetList(text string) bool {
	for _, s := range strings.Split(strings.TrimSuffix(text, ";"), ";") {
		if !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(s)), "SET ") {
			return false
		}
	}
	return true
}

// endsStatement reports whether text ends with a semicolon that is no part of a quote or comment.
func endsStatement(text string) bool {
	last := -1
	scan(text, func(i int) { last = i })
	return last >= 0 && strings.TrimSpace(stripComments(text[last+1:])) == ""
}

// scan calls found with the place of each semicolon outside of quotes and comments.
func scan(text string, found func(i int)) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ';':
			found(i)
		case c == '\'' || c == '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return
			}
			i += end + 1 // a doubled quote is simply the next quoted run
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return
			}
			i += end
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return
			}
			i += end + 3
		}
	}
}

// stripComments returns text with comments blanked.
func stripComments(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				b.WriteString(text[i:])
				return b.String()
			}
			b.WriteString(text[i : i+end+2])
			i += end + 1
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return b.String()
			}
			i += end - 1
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return b.String()
			}
			i += end + 3
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
