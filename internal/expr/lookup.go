package expr

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Mapping is the table of a lookup, which LOOKUP maps text through. It does not change while a
// query uses it, and is asked from many goroutines.
type Mapping interface {
	// Get returns the value of a key, and whether there is one.
	Get(key string) (value string, ok bool)
}

// Lookups finds the table of a lookup by name, or says why there is none. Within one query a name
// gives one table.
type Lookups func(name string) (Mapping, error)

// lookup returns the table of a lookup that must be there.
func (c *Context) lookup(name string) (Mapping, error) {
	if c.Lookups != nil {
		return c.Lookups(name)
	}
	return nil, fault.InvalidInput("Lookup [%s] not found", name)
}

var lookupFunction = &Function{
	Name: "LOOKUP", Contextual: true, Min: 2, Max: 3, NativeName: "lookup", SeesNulls: true, RefusesNull: true,
	Summary: "Returns what the lookup named by the second argument has for a key; the third, or NULL, if it has nothing.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)", "$F(<CHARACTER>, <CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.constantText(1, "name of the lookup")
		if b.has(2) {
			b.text(2)
			b.constant(2, "value for keys that the lookup does not have")
		}
		return b.call(Of(Varchar).OrNull(true))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		table, err := ctx.lookup(c.Args[1].(*Literal).Value.(string))
		if err != nil {
			return nil, err
		}
		missing, given := "", false
		if len(c.Args) > 2 {
			missing, given = c.Args[2].(*Literal).Value.(string)
		}
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			keys, r := columnOf[string](args[0]), newRows[string](n)
			for i := range r.out {
				if !args[0].IsNull(i) {
					if v, ok := table.Get(keys.at(i)); ok {
						r.out[i] = v
						continue
					}
				}
				if r.out[i] = missing; !given {
					r.null(i)
				}
			}
			return r.vector(), nil
		}, nil
	},
}
