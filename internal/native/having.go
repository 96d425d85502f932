package native

// Having decides which groups stay. The concrete conditions are in this file.
type Having interface{ having() }

// HavingOf holds a condition, or nil.
type HavingOf struct{ Having }

// UnmarshalJSON implements json.Unmarshaler.
func (h *HavingOf) UnmarshalJSON(text []byte) (err error) {
	if isNull(text) {
		return nil
	}
	h.Having, err = decodeTyped(text, "type", "Having", havingTypes)
	return err
}

var havingTypes = map[string]func() Having{
	"always":      func() Having { return new(AlwaysHaving) },
	"and":         func() Having { return new(AndHaving) },
	"or":          func() Having { return new(OrHaving) },
	"not":         func() Having { return new(NotHaving) },
	"dimSelector": func() Having { return new(DimensionHaving) },
	"equalTo":     func() Having { return new(NumberHaving) },
	"greaterThan": func() Having { return new(NumberHaving) },
	"lessThan":    func() Having { return new(NumberHaving) },
	"filter":      func() Having { return new(FilterHaving) },
}

// AlwaysHaving keeps every group; AndHaving, OrHaving and NotHaving combine conditions.
type (
	AlwaysHaving struct{}
	AndHaving    struct {
		HavingSpecs []HavingOf `json:"havingSpecs"`
	}
	OrHaving struct {
		HavingSpecs []HavingOf `json:"havingSpecs"`
	}
	NotHaving struct {
		HavingSpec HavingOf `json:"havingSpec"`
	}
)

// DimensionHaving compares the text of a dimension.
type DimensionHaving struct {
	Dimension    string       `json:"dimension"`
	Value        Text         `json:"value"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// NumberHaving compares an aggregate with a number, as its Type says.
type NumberHaving struct {
	Type        string `json:"type"`
	Aggregation string `json:"aggregation"`
	Value       Text   `json:"value"`
}

// FilterHaving is a filter over the outputs.
type FilterHaving struct {
	Filter FilterOf `json:"filter"`
}

func (*AlwaysHaving) having()    {}
func (*AndHaving) having()       {}
func (*OrHaving) having()        {}
func (*NotHaving) having()       {}
func (*DimensionHaving) having() {}
func (*NumberHaving) having()    {}
func (*FilterHaving) having()    {}
