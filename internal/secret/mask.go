package secret

import (
	"net/url"
	"regexp"
	"strings"
)

// quotedName finds a name in quotes, however often they are escaped, with the colon behind it.
var quotedName = regexp.MustCompile(`(\\*)"([A-Za-z0-9_.-]+)\\*"\s*:\s*`)

// assigned finds name => 'value' of SQL, name = "value" of JAAS, and name=value of URLs and
// connection strings.
var assigned = regexp.MustCompile(`"?([A-Za-z][A-Za-z0-9_.-]*)"?` +
	`(?:\s*=>?\s*("(?:[^"\\]|\\.)*"|\\+"(?:[^"\\]|\\[^"])*\\+"|'(?:[^']|'')*')|=([^\s"'&;,\\()<>{}\[\]]+))`)

// userInfo finds the user part of a URL.
var userInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/?#"'\\]+)@`)

// header finds the value of a header that says who sends a request.
var header = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?)((?:basic|bearer|negotiate|digest)\s+)?([^\s"',;\\]+)`)

// bearer finds tokens that are introduced as such.
var bearer = regexp.MustCompile(`\b(?i:(bearer\s+))([A-Za-z0-9._~+/=-]{8,})`)

// MaskText masks the secrets in a text that can be recognized by names, URLs and headers, in a
// statement with EXTERN, a message, or a connection string. Masking is idempotent.
func MaskText(text string) string {
	if !hinted(text) {
		return text
	}
	return inText(text, nil)
}

// URL returns a URL with its user info and secret parameters masked.
func URL(u *url.URL) string { return MaskText(u.String()) }

// MaskSQL is MaskText, for a statement.
func MaskSQL(text string) string { return MaskText(text) }

// findInText gives the secrets that MaskText masks.
func findInText(text string, found func(value string)) {
	if hinted(text) {
		inText(text, found)
	}
}

// inText masks a text, or only tells of the secrets in it.
func inText(text string, found func(value string)) string {
	tell := func(value string) string {
		if found != nil {
			found(value)
		}
		return Masked
	}
	text = inMembers(text, tell)
	text = userInfo.ReplaceAllStringFunc(text, func(m string) string {
		parts := userInfo.FindStringSubmatch(m)
		if found != nil {
			if _, password, ok := strings.Cut(parts[2], ":"); ok {
				found(password)
			} else {
				found(parts[2])
			}
		}
		return parts[1] + Masked + "@"
	})
	text = assigned.ReplaceAllStringFunc(text, func(m string) string {
		parts := assigned.FindStringSubmatch(m)
		signed := parts[3] != "" && strings.EqualFold(parts[1], "signature") // of a URL; elsewhere signatures are lists of columns
		if !signed && !IsName(parts[1]) || strings.Contains(parts[2]+parts[3], Masked) {
			return m
		}
		value := parts[2]
		if value == "" {
			return strings.TrimSuffix(m, parts[3]) + tell(parts[3])
		}
		before := strings.TrimSuffix(m, value)
		quote := value[:strings.IndexAny(value, `"'`)+1]
		inner := value[len(quote) : len(value)-len(quote)]
		if quote == "'" {
			inner = strings.ReplaceAll(inner, "''", "'")
		}
		return before + quote + tell(inner) + quote
	})
	text = header.ReplaceAllStringFunc(text, func(m string) string {
		parts := header.FindStringSubmatch(m)
		if parts[3] == Masked {
			return m
		}
		return parts[1] + parts[2] + tell(parts[3])
	})
	return bearer.ReplaceAllStringFunc(text, func(m string) string {
		parts := bearer.FindStringSubmatch(m)
		return parts[1] + tell(parts[2])
	})
}

// inMembers masks the members of JSON objects inside a text.
func inMembers(text string, tell func(string) string) string {
	var out strings.Builder
	keyedUntil := 0 // how much text is left behind an object in which a key is just "key"
	for {
		at := quotedName.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(text)
			return out.String()
		}
		slashes, name := at[3]-at[2], text[at[4]:at[5]]
		out.WriteString(text[:at[1]])
		text = text[at[1]:]
		parent := plain
		if len(text) > keyedUntil && keyedUntil > 0 {
			parent = keyed
		}
		n := natureOf(parent, name)
		if n == plain {
			continue
		}
		end := valueEnd(text, slashes)
		if n == keyed {
			keyedUntil = len(text) - end
			continue
		}
		value := text[:end]
		if end == 0 || value == "null" || value == "true" || value == "false" || namesVariableIn(value) {
			continue
		}
		quote := strings.Repeat(`\`, slashes) + `"`
		inner := strings.TrimSuffix(strings.TrimPrefix(value, quote), quote)
		if inner != Masked && value != quote+Masked+quote {
			tellAll(value, inner, tell)
		}
		out.WriteString(quote + Masked + quote)
		text = text[end:]
	}
}

// tellAll tells of the value of a member: of its text, or of those in the object that it is.
func tellAll(value, inner string, tell func(string) string) {
	if value[0] != '{' && value[0] != '[' {
		tell(inner)
		return
	}
	for _, m := range quoted.FindAllStringSubmatch(value, -1) {
		if m[2] == "" { // no name of a member
			tell(m[1])
		}
	}
}

// quoted finds texts in quotes, and whether a colon follows.
var quoted = regexp.MustCompile(`\\*"((?:[^"\\]|\\[^"])*)\\*"(\s*:)?`)

var variable = regexp.MustCompile(`^\{\s*(?:\\*"type\\*"\s*:\s*\\*"environment\\*"\s*,\s*\\*"variable\\*"\s*:\s*\\*"[^"{}]*"|` +
	`\\*"variable\\*"\s*:\s*\\*"[^"{}]*"\s*,\s*\\*"type\\*"\s*:\s*\\*"environment\\*")\s*\}$`)

func namesVariableIn(value string) bool { return value[0] == '{' && variable.MatchString(value) }

// valueEnd returns where the JSON value that a text begins with ends. Quotes around it are escaped
// by so many backslashes. A value without an end, as in a text that was cut, takes the rest.
func valueEnd(text string, slashes int) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\\':
			i = stringEnd(text, i, slashes)
			if depth == 0 || i >= len(text) {
				return min(i, len(text))
			}
			i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t', '\'', ')':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// stringEnd returns where a string ends that begins at a place. Its end is a quote behind a number
// of backslashes by which a quote inside it can't be escaped: with none before the first quote an
// even one, with one 1, 5, 9, and so on.
func stringEnd(text string, at, slashes int) int {
	for at < len(text) && text[at] == '\\' {
		at++
	}
	run := 0
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			run++
			continue
		case '"':
			if run%(2*(slashes+1)) == slashes {
				return i + 1
			}
		}
		run = 0
	}
	return len(text)
}
