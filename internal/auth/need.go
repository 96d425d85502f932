package auth

// Action is what is done with a resource. Writing does not include reading.
type Action string

// The actions.
const (
	Read  Action = "READ"
	Write Action = "WRITE"
)

// Kind is a type of resources. Types are open: a permission on an unknown one is kept and matches
// nothing.
type Kind string

// The types of spec/security.md, section 11.
const (
	Datasource   Kind = "DATASOURCE"
	View         Kind = "VIEW"
	Config       Kind = "CONFIG"
	State        Kind = "STATE"
	SystemTable  Kind = "SYSTEM_TABLE"
	External     Kind = "EXTERNAL"
	QueryContext Kind = "QUERY_CONTEXT"
)

// Kinds lists the known types.
var Kinds = []Kind{Datasource, View, Config, State, SystemTable, External, QueryContext}

// Resource is what a permission is about. In a permission the name is a pattern that has to match a
// whole name.
type Resource struct {
	Name string `json:"name"`
	Kind Kind   `json:"type"`
}

// Need is what a request asks for.
type Need struct {
	Resource Resource `json:"resource"`
	Action   Action   `json:"action"`
}

// Reads returns the need to read a resource.
func Reads(k Kind, name string) Need { return Need{Resource{name, k}, Read} }

// Writes returns the need to write a resource.
func Writes(k Kind, name string) Need { return Need{Resource{name, k}, Write} }

// String returns the need as messages tell it: READ of DATASOURCE [orders].
func (n Need) String() string {
	return string(n.Action) + " of " + string(n.Resource.Kind) + " [" + n.Resource.Name + "]"
}
