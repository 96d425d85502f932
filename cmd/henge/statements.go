package main

import "strings"

// splitStatements cuts a text at the semicolons that stand outside of quotes and comments. Leading SET statements stay with the
// statement they precede, as one request holds both.
func splitStatements(text string) []string {
	var out []string
	start, part := 0, 0 // of the request, and of the statement within it
	scan(text, func(i int) {
		bare := strings.TrimSpace(stripComments(text[part:i]))
		part = i + 1
		if isSet(bare) {
			return
		}
		if bare != "" {
			out = append(out, strings.TrimSpace(text[start:i]))
		}
		start = i + 1
	})
	if rest := strings.TrimSpace(text[start:]); strings.TrimSpace(stripComments(rest)) != "" {
		out = append(out, rest)
	}
	return out
}

// isSet reports whether a statement is a SET.
func isSet(bare string) bool {
	words := strings.Fields(bare)
	return len(words) > 1 && strings.EqualFold(words[0], "SET")
}

// endsStatement reports whether text ends with a semicolon that is no part of a quote or comment.
func endsStatement(text string) bool {
	last := -1
	whole := scan(text, func(i int) { last = i })
	return whole && last >= 0 && strings.TrimSpace(stripComments(text[last+1:])) == ""
}

// scan calls found with the place of each semicolon outside of quotes and comments. It returns false if the text ends inside of one.
func scan(text string, found func(i int)) (whole bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ';':
			found(i)
		case c == '\'' || c == '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return false
			}
			i += end + 1 // a doubled quote is simply the next quoted run
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return true
			}
			i += end
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return false
			}
			i += end + 3
		}
	}
	return true
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
