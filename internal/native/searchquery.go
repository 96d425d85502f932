package native

import "slices"

// SearchQuery searches for text in strings. The concrete queries are in this file.
type SearchQuery interface{ searchQuery() }

// SearchQueryOf holds a search query, or nil.
type SearchQueryOf struct{ SearchQuery }

// UnmarshalJSON implements json.Unmarshaler.
func (q *SearchQueryOf) UnmarshalJSON(text []byte) error { return readText(text, q) }

func (q *SearchQueryOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	q.SearchQuery, err = decodeTyped(d, m, "type", "Search query", searchQueryTypes)
	if f, ok := q.SearchQuery.(*FragmentSearch); err == nil && ok && slices.Contains(f.Values, nil) {
		return invalid("Search query of type [fragment] can't have null among its values")
	}
	return err
}

var searchQueryTypes = map[string]func() SearchQuery{
	"insensitive_contains": func() SearchQuery { return new(ContainsSearch) },
	"contains":             func() SearchQuery { return new(ContainsSearch) },
	"fragment":             func() SearchQuery { return new(FragmentSearch) },
	"regex":                func() SearchQuery { return new(RegexSearch) },
	"all":                  func() SearchQuery { return new(AllSearch) },
}

// ContainsSearch searches for Value. Only the type "contains" can be case-sensitive.
type ContainsSearch struct {
	Type          string  `json:"type"`
	Value         *string `json:"value"`
	CaseSensitive *Flag   `json:"caseSensitive"`
}

// FragmentSearch searches for all of Values.
type FragmentSearch struct {
	Values        []*string `json:"values"`
	CaseSensitive *Flag     `json:"caseSensitive"`
}

// RegexSearch searches for a match of Pattern.
type RegexSearch struct {
	Pattern string `json:"pattern"`
}

// AllSearch matches everything.
type AllSearch struct{}

func (*ContainsSearch) searchQuery() {}
func (*FragmentSearch) searchQuery() {}
func (*RegexSearch) searchQuery()    {}
func (*AllSearch) searchQuery()      {}
