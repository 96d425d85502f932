package config

import (
	"maps"
	"slices"
	"strings"
)

// Properties returns all set properties as the text of a properties file, sorted by key, which Load
// reads again. Without secrets, secret ones are comments that name them, and addresses lack their
// user and password.
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
