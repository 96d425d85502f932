package config

import (
	"maps"
	"slices"
	"strings"
)

// Properties returns all set properties in the format of a properties file, sorted by key, which
// Load can read. Without secrets, secret properties become comments with their names, and addresses
// lose their user and password.
func (s *Settings) Properties(secrets bool) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		value := s.values[key]
		if p := find(key); !secrets && p != nil && p.Secret {
			out.WriteString("# left out, because it is secret: " + key + "\n")
			continue
		}
		if !secrets {
			masked := shown(value)
			if masked != value {
				out.WriteString("# without the user and password of this address:\n")
			}
			value = masked
		}
		out.WriteString(key + "=" + escapeValue(value) + "\n")
	}
	return out.String()
}

// escapeValue writes a value so that a properties reader gets it back.
func escapeValue(v string) string {
	v = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(v)
	if strings.HasPrefix(v, " ") {
		v = `\` + v
	}
	return v
}

// Lines returns lines to print with every property, its value and its description. Properties with
// a name in the key are repeated for each name that is set.
func (s *Settings) Lines() []string {
	var out []string
	for _, p := range Properties {
		keys := []string{p.Key}
		if strings.Contains(p.Key, "<name>") {
			for _, key := range s.Set() {
				if find(key).Key == p.Key {
					keys = append(keys, key)
				}
			}
		}
		for _, key := range keys {
			value, from := p.Default, ""
			if s.IsSet(key) {
				value, from = shown(s.values[key]), "; set by "+s.sources[key]
				if value != p.Default && p.Default != "" {
					from += ", default " + p.Default
				}
			}
			if p.Secret {
				value = ""
				if from != "" {
					from = "; set by " + s.sources[key] + ", not shown"
				}
			}
			out = append(out, key+"="+escapeValue(value), "    "+p.Doc+" ("+p.Kind.String()+from+")")
		}
	}
	return out
}
