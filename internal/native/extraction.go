package native

// Extraction converts the string of a column to another string. The concrete functions are in this
// file.
type Extraction interface{ extraction() }

// ExtractionOf holds an extraction function, or nil.
type ExtractionOf struct{ Extraction }

// UnmarshalJSON implements json.Unmarshaler.
func (f *ExtractionOf) UnmarshalJSON(text []byte) error { return readText(text, f) }

func (f *ExtractionOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	f.Extraction, err = decodeTyped(d, m, "type", "Extraction function", extractionTypes)
	return err
}

var extractionTypes = map[string]func() Extraction{
	"regex":            func() Extraction { return new(RegexExtraction) },
	"partial":          func() Extraction { return new(PartialExtraction) },
	"searchQuery":      func() Extraction { return new(SearchExtraction) },
	"substring":        func() Extraction { return new(SubstringExtraction) },
	"strlen":           func() Extraction { return new(StrlenExtraction) },
	"upper":            func() Extraction { return new(UpperExtraction) },
	"lower":            func() Extraction { return new(LowerExtraction) },
	"timeFormat":       func() Extraction { return new(TimeFormatExtraction) },
	"time":             func() Extraction { return new(TimeParseExtraction) },
	"lookup":           func() Extraction { return new(LookupExtraction) },
	"registeredLookup": func() Extraction { return new(LookupExtraction) },
	"cascade":          func() Extraction { return new(CascadeExtraction) },
	"stringFormat":     func() Extraction { return new(FormatExtraction) },
	"bucket":           func() Extraction { return new(BucketExtraction) },
	"identity":         func() Extraction { return new(IdentityExtraction) },
}

// RegexExtraction returns group Index (default 1) of the first match. Values without a match are
// kept, or replaced by ReplaceMissingValueWith if ReplaceMissingValue is set.
type RegexExtraction struct {
	Expr                    string  `json:"expr"`
	Index                   *Whole  `json:"index"`
	ReplaceMissingValue     Flag    `json:"replaceMissingValue"`
	ReplaceMissingValueWith *string `json:"replaceMissingValueWith"`
}

// PartialExtraction keeps strings that match and converts other strings to NULL.
type PartialExtraction struct {
	Expr string `json:"expr"`
}

// SearchExtraction keeps strings in which the search query is found and converts other strings to
// NULL.
type SearchExtraction struct {
	Query SearchQueryOf `json:"query"`
}

// SubstringExtraction returns Length characters (nil: all) from Index on, counted from 0.
type SubstringExtraction struct {
	Index  Whole  `json:"index"`
	Length *Whole `json:"length"`
}

// The extraction functions without parameters.
type (
	StrlenExtraction   struct{}
	IdentityExtraction struct{}
	UpperExtraction    struct {
		Locale string `json:"locale"`
	}
	LowerExtraction struct {
		Locale string `json:"locale"`
	}
)

// TimeFormatExtraction formats a time, floored to Granularity, with a Joda pattern, or as ISO 8601
// if there is no pattern.
type TimeFormatExtraction struct {
	Format      string          `json:"format"`
	TimeZone    string          `json:"timeZone"`
	Locale      *string         `json:"locale"`
	Granularity *GranularitySet `json:"granularity"`
	AsMillis    Flag            `json:"asMillis"`
}

// TimeParseExtraction parses a time with one pattern and formats it with another.
type TimeParseExtraction struct {
	TimeFormat   string `json:"timeFormat"`
	ResultFormat string `json:"resultFormat"`
	Joda         Flag   `json:"joda"`
}

// LookupExtraction maps strings through a lookup table that is inline or registered under a name.
type LookupExtraction struct {
	Lookup                  MapOf   `json:"lookup"`
	RetainMissingValue      Flag    `json:"retainMissingValue"`
	ReplaceMissingValueWith *string `json:"replaceMissingValueWith"`
}

// MapOf is an inline lookup table, or the Name of a registered one.
type MapOf struct {
	Name string
	Map  map[string]string
}

// UnmarshalJSON implements json.Unmarshaler.
func (of *MapOf) UnmarshalJSON(text []byte) error { return readText(text, of) }

func (of *MapOf) read(d *document, m member) error {
	if d.opens(m, '"') {
		return d.fill(m, &of.Name)
	}
	var wire struct {
		Type string          `json:"type"`
		Map  map[string]Text `json:"map"`
	}
	if err := d.fill(m, &wire); err != nil {
		return err
	}
	if wire.Type != "map" {
		return invalid("Lookup of type [%s] is unknown. Known are [map]", wire.Type)
	}
	of.Map = make(map[string]string, len(wire.Map))
	for key, value := range wire.Map {
		if value.Null {
			return invalid("Lookup of type [map] has null for key [%s]", key)
		}
		of.Map[key] = value.S
	}
	return nil
}

// CascadeExtraction applies functions in sequence.
type CascadeExtraction struct {
	ExtractionFns []ExtractionOf `json:"extractionFns"`
}

// FormatExtraction formats the string with a format such as "[%s]".
type FormatExtraction struct {
	Format       string  `json:"format"`
	NullHandling *string `json:"nullHandling"`
}

func (f *FormatExtraction) check() error {
	if f.Format == "" {
		return invalid("Extraction function of type [stringFormat] has an empty [format]")
	}
	switch f.nulls() {
	case "nullstring", "emptystring", "returnnull":
		return nil
	}
	return invalid("nullHandling [%s] is unknown. Known are [nullString, emptyString, returnNull]", *f.NullHandling)
}

// nulls is what is made of NULL, in lower case.
func (f *FormatExtraction) nulls() string {
	if f.NullHandling == nil {
		return "nullstring"
	}
	return lower(*f.NullHandling)
}

// BucketExtraction returns the lower bound of the bucket of a number. Buckets are Size (default 1)
// wide, counted from Offset.
type BucketExtraction struct {
	Size   *float64 `json:"size"`
	Offset float64  `json:"offset"`
}

func (*RegexExtraction) extraction()      {}
func (*PartialExtraction) extraction()    {}
func (*SearchExtraction) extraction()     {}
func (*SubstringExtraction) extraction()  {}
func (*StrlenExtraction) extraction()     {}
func (*IdentityExtraction) extraction()   {}
func (*UpperExtraction) extraction()      {}
func (*LowerExtraction) extraction()      {}
func (*TimeFormatExtraction) extraction() {}
func (*TimeParseExtraction) extraction()  {}
func (*LookupExtraction) extraction()     {}
func (*CascadeExtraction) extraction()    {}
func (*FormatExtraction) extraction()     {}
func (*BucketExtraction) extraction()     {}
