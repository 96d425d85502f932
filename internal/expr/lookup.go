package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Mapping is the table of a lookup. It does not change while a query uses it, and is safe for use
// by many goroutines.
type Mapping interface {
	// Get returns the value of a key, and whether the key exists.
	Get(key string) (value string, ok bool)
}

// Lookups returns the table of a lookup by name, or an error. Within a query, a name always returns
// the same table.
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
	Summary: "Returns the value of a key in a lookup. If the lookup lacks the key, returns the default, or NULL.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)", "$F(<CHARACTER>, <CHARACTER>, <CHARACTER>)"},
	Bind: func(b *Binding) (Expr, error) {
		b.Text(0)
		b.ConstantText(1, "name of the lookup")
		if b.Has(2) {
			b.Text(2)
			b.Constant(2, "value for keys that the lookup does not have")
		}
		return b.Call(Of(Varchar).OrNull(true))
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
			keys, r := kernel.ColumnOf[string](args[0]), kernel.NewRows[string](n)
			for i := range r.Out {
				if !args[0].IsNull(i) {
					if v, ok := table.Get(keys.At(i)); ok {
						r.Out[i] = v
						continue
					}
				}
				if r.Out[i] = missing; !given {
					r.Null(i)
				}
			}
			return r.Vector(), nil
		}, nil
	},
}
