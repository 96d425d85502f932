package kafka

import "strings"

// jaas is an entry of a login configuration as Java has it:
//
//	org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";
type jaas struct {
	// module is the last part of the name of the class.
	module  string
	options map[string]string
}

// The modules that are known, by the last part of their class.
const (
	plainModule    = "PlainLoginModule"
	scramModule    = "ScramLoginModule"
	oauthModule    = "OAuthBearerLoginModule"
	kerberosModule = "Krb5LoginModule"
)

// parseJAAS reads the first entry. What it returns as problem never holds a value.
func parseJAAS(text string) (entry *jaas, problem string) {
	p := jaasReader{rest: text}
	class, _, ok := p.token()
	if !ok || class == ";" {
		return nil, "it needs a login module"
	}
	entry = &jaas{module: class[strings.LastIndexByte(class, '.')+1:], options: map[string]string{}}
	switch entry.module {
	case plainModule, scramModule, oauthModule, kerberosModule:
	default:
		return nil, "its login module [" + entry.module + "] is not one of [" +
			strings.Join([]string{plainModule, scramModule, oauthModule, kerberosModule}, ", ") + "]"
	}
	switch flag, _, _ := p.token(); strings.ToLower(flag) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return nil, "a login module must be followed by one of [required, requisite, sufficient, optional]"
	}
	for {
		name, quoted, ok := p.token()
		switch {
		case !ok && p.broken:
			return nil, "a quote in it is not closed"
		case !ok:
			return nil, "it must end with ';'"
		case name == ";" && !quoted:
			return entry, ""
		}
		if equals, quoted, ok := p.token(); !ok || quoted || equals != "=" {
			return nil, "an option of it has no '=' behind its name"
		}
		value, quoted, ok := p.token()
		switch {
		case p.broken:
			return nil, "a quote in it is not closed"
		case !ok || !quoted && (value == ";" || value == "="):
			return nil, "option [" + name + "] of it has no value"
		}
		entry.options[name] = value
	}
}

// jaasReader cuts the text into words, strings in quotes, '=' and ';'.
type jaasReader struct {
	rest   string
	broken bool // a quote is not closed
}

func (p *jaasReader) token() (text string, quoted, ok bool) {
	p.skip()
	if p.rest == "" {
		return "", false, false
	}
	switch first := p.rest[0]; first {
	case '=', ';':
		p.rest = p.rest[1:]
		return string(first), false, true
	case '"', '\'':
		var out strings.Builder
		for i := 1; i < len(p.rest); i++ {
			switch c := p.rest[i]; {
			case c == first:
				p.rest = p.rest[i+1:]
				return out.String(), true, true
			case c == '\\' && i+1 < len(p.rest):
				i++
				out.WriteByte(unescaped(p.rest[i]))
			default:
				out.WriteByte(c)
			}
		}
		p.rest, p.broken = "", true
		return "", false, false
	}
	end := strings.IndexAny(p.rest, " \t\r\n=;\"")
	if end < 0 {
		end = len(p.rest)
	}
	text, p.rest = p.rest[:end], p.rest[end:]
	return text, false, true
}

// skip leaves out white space and comments.
func (p *jaasReader) skip() {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r\n")
		switch {
		case strings.HasPrefix(p.rest, "//"):
			_, p.rest, _ = strings.Cut(p.rest, "\n")
		case strings.HasPrefix(p.rest, "/*"):
			_, p.rest, _ = strings.Cut(p.rest[2:], "*/")
		default:
			return
		}
	}
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}
