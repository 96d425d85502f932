package relaxed

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
)

// Features are the deviations from the JSON grammar that a featureSpec allows.
type Features struct {
	comments, yamlComments         bool
	UnquotedNames, SingleQuotes    bool
	ControlCharacters, AnyEscape   bool
	leadingZeros, leadingPlus      bool
	leadingPoint, trailingPoint    bool
	NonNumbers                     bool
	missingValues, trailingComma   bool
	noDuplicates, withoutAnyEffect bool
}

// featureOf gives the feature that a name of Druid's parser stands for. Those of two releases of it
// are known.
var featureOf = map[string]func(*Features) *bool{
	"ALLOW_COMMENTS":                           func(f *Features) *bool { return &f.comments },
	"ALLOW_JAVA_COMMENTS":                      func(f *Features) *bool { return &f.comments },
	"ALLOW_YAML_COMMENTS":                      func(f *Features) *bool { return &f.yamlComments },
	"ALLOW_UNQUOTED_FIELD_NAMES":               func(f *Features) *bool { return &f.UnquotedNames },
	"ALLOW_SINGLE_QUOTES":                      func(f *Features) *bool { return &f.SingleQuotes },
	"ALLOW_UNQUOTED_CONTROL_CHARS":             func(f *Features) *bool { return &f.ControlCharacters },
	"ALLOW_UNESCAPED_CONTROL_CHARS":            func(f *Features) *bool { return &f.ControlCharacters },
	"ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER":   func(f *Features) *bool { return &f.AnyEscape },
	"ALLOW_NUMERIC_LEADING_ZEROS":              func(f *Features) *bool { return &f.leadingZeros },
	"ALLOW_LEADING_ZEROS_FOR_NUMBERS":          func(f *Features) *bool { return &f.leadingZeros },
	"ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS":      func(f *Features) *bool { return &f.leadingPlus },
	"ALLOW_LEADING_DECIMAL_POINT_FOR_NUMBERS":  func(f *Features) *bool { return &f.leadingPoint },
	"ALLOW_TRAILING_DECIMAL_POINT_FOR_NUMBERS": func(f *Features) *bool { return &f.trailingPoint },
	"ALLOW_NON_NUMERIC_NUMBERS":                func(f *Features) *bool { return &f.NonNumbers },
	"ALLOW_MISSING_VALUES":                     func(f *Features) *bool { return &f.missingValues },
	"ALLOW_TRAILING_COMMA":                     func(f *Features) *bool { return &f.trailingComma },
	"STRICT_DUPLICATE_DETECTION":               func(f *Features) *bool { return &f.noDuplicates },
	// How Druid's parser manages its buffers and errors; records mean the same.
	"AUTO_CLOSE_SOURCE":          func(f *Features) *bool { return &f.withoutAnyEffect },
	"IGNORE_UNDEFINED":           func(f *Features) *bool { return &f.withoutAnyEffect },
	"INCLUDE_SOURCE_IN_LOCATION": func(f *Features) *bool { return &f.withoutAnyEffect },
	"USE_FAST_DOUBLE_PARSER":     func(f *Features) *bool { return &f.withoutAnyEffect },
	"USE_FAST_BIG_NUMBER_PARSER": func(f *Features) *bool { return &f.withoutAnyEffect },
}

// ParseFeatures parses a featureSpec.
func ParseFeatures(text json.RawMessage) (f Features, err error) {
	if !wire.Given(text) {
		return f, nil
	}
	var members map[string]*bool
	if err := wire.Decode("featureSpec", text, &members); err != nil {
		return f, err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		feature, on := featureOf[name], members[name]
		switch {
		case feature == nil:
			known := slices.Sorted(maps.Keys(featureOf))
			hint := ""
			if near := fault.Nearest(name, known); near != "" {
				hint = "; did you mean '" + near + "'?"
			}
			return f, wire.Invalid("featureSpec", "there is no feature '%s'%s; known are [%s]", name, hint, strings.Join(known, ", "))
		case on == nil:
			return f, wire.Invalid("featureSpec", "'%s' is true or false", name)
		case *on:
			*feature(&f) = true
		}
	}
	f.withoutAnyEffect = false
	return f, nil
}
