package ingest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// jsonFeatures are the departures from the grammar of JSON that a featureSpec allows.
type jsonFeatures struct {
	comments, yamlComments         bool
	unquotedNames, singleQuotes    bool
	controlCharacters, anyEscape   bool
	leadingZeros, leadingPlus      bool
	leadingPoint, trailingPoint    bool
	nonNumbers                     bool
	missingValues, trailingComma   bool
	noDuplicates, withoutAnyEffect bool
}

// featureOf gives the feature that a name of the reference's parser stands for. Those of two
// releases of it are known.
var featureOf = map[string]func(*jsonFeatures) *bool{
	"ALLOW_COMMENTS":                           func(f *jsonFeatures) *bool { return &f.comments },
	"ALLOW_JAVA_COMMENTS":                      func(f *jsonFeatures) *bool { return &f.comments },
	"ALLOW_YAML_COMMENTS":                      func(f *jsonFeatures) *bool { return &f.yamlComments },
	"ALLOW_UNQUOTED_FIELD_NAMES":               func(f *jsonFeatures) *bool { return &f.unquotedNames },
	"ALLOW_SINGLE_QUOTES":                      func(f *jsonFeatures) *bool { return &f.singleQuotes },
	"ALLOW_UNQUOTED_CONTROL_CHARS":             func(f *jsonFeatures) *bool { return &f.controlCharacters },
	"ALLOW_UNESCAPED_CONTROL_CHARS":            func(f *jsonFeatures) *bool { return &f.controlCharacters },
	"ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER":   func(f *jsonFeatures) *bool { return &f.anyEscape },
	"ALLOW_NUMERIC_LEADING_ZEROS":              func(f *jsonFeatures) *bool { return &f.leadingZeros },
	"ALLOW_LEADING_ZEROS_FOR_NUMBERS":          func(f *jsonFeatures) *bool { return &f.leadingZeros },
	"ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS":      func(f *jsonFeatures) *bool { return &f.leadingPlus },
	"ALLOW_LEADING_DECIMAL_POINT_FOR_NUMBERS":  func(f *jsonFeatures) *bool { return &f.leadingPoint },
	"ALLOW_TRAILING_DECIMAL_POINT_FOR_NUMBERS": func(f *jsonFeatures) *bool { return &f.trailingPoint },
	"ALLOW_NON_NUMERIC_NUMBERS":                func(f *jsonFeatures) *bool { return &f.nonNumbers },
	"ALLOW_MISSING_VALUES":                     func(f *jsonFeatures) *bool { return &f.missingValues },
	"ALLOW_TRAILING_COMMA":                     func(f *jsonFeatures) *bool { return &f.trailingComma },
	"STRICT_DUPLICATE_DETECTION":               func(f *jsonFeatures) *bool { return &f.noDuplicates },
	// How the reference's parser manages its buffers and errors; records mean the same.
	"AUTO_CLOSE_SOURCE":          func(f *jsonFeatures) *bool { return &f.withoutAnyEffect },
	"IGNORE_UNDEFINED":           func(f *jsonFeatures) *bool { return &f.withoutAnyEffect },
	"INCLUDE_SOURCE_IN_LOCATION": func(f *jsonFeatures) *bool { return &f.withoutAnyEffect },
	"USE_FAST_DOUBLE_PARSER":     func(f *jsonFeatures) *bool { return &f.withoutAnyEffect },
	"USE_FAST_BIG_NUMBER_PARSER": func(f *jsonFeatures) *bool { return &f.withoutAnyEffect },
}

// parseFeatures reads a featureSpec.
func parseFeatures(text json.RawMessage) (f jsonFeatures, err error) {
	if !given(text) {
		return f, nil
	}
	var wire map[string]*bool
	if err := decodeWire("featureSpec", text, &wire); err != nil {
		return f, err
	}
	for _, name := range slices.Sorted(maps.Keys(wire)) {
		feature, on := featureOf[name], wire[name]
		switch {
		case feature == nil:
			known := slices.Sorted(maps.Keys(featureOf))
			hint := ""
			if near := fault.Nearest(name, known); near != "" {
				hint = "; did you mean '" + near + "'?"
			}
			return f, invalidField("featureSpec", "there is no feature '%s'%s; known are [%s]", name, hint, strings.Join(known, ", "))
		case on == nil:
			return f, invalidField("featureSpec", "'%s' is true or false", name)
		case *on:
			*feature(&f) = true
		}
	}
	f.withoutAnyEffect = false
	return f, nil
}
