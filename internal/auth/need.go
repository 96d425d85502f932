package auth

// Action is an action on a resource. Write access does not include read access.
type Action string

// The actions.
const (
	Read  Action = "READ"
	Write Action = "WRITE"
)

// Kind is a resource type. The set of types is open: a permission on an unknown type is stored and
// matches nothing.
type Kind string

// The types that docs/security.md describes.
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

// Resource is the resource of a permission or a need. In a permission, the name is a pattern that
// must match the whole name.
type Resource struct {
	Name string `json:"name"`
	Kind Kind   `json:"type"`
}

// Need is an access that a request requires.
type Need struct {
	Resource Resource `json:"resource"`
	Action   Action   `json:"action"`
}

// Reads returns the need to read a resource.
func Reads(k Kind, name string) Need { return Need{Resource{name, k}, Read} }

// Writes returns the need to write a resource.
func Writes(k Kind, name string) Need { return Need{Resource{name, k}, Write} }

// String returns the need in the form of messages: READ of DATASOURCE [orders].
func (n Need) String() string {
	return string(n.Action) + " of " + string(n.Resource.Kind) + " [" + n.Resource.Name + "]"
}
