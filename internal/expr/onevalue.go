package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// oneValueFunction gives the value of a multi-value string, which no row may have several of. Its
// second argument is what messages call the string. Groups are made by it where the query context
// says that they are not to be made value by value.
var oneValueFunction = &Function{
	Name: "$ONE_VALUE", Min: 2, Max: 2, SeesLists: true,
	Bind: func(b *Binding) (Expr, error) {
		b.ConstantText(1, "name")
		return bindElement(b)
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		name, _ := LiteralValue(c.Args[1])
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			list, picks, has := args[0], make([]uint32, n), vector.NewBitmap(n)
			for i := range n {
				if !valid.Get(i) {
					continue
				}
				switch lo, hi := list.ListAt(i); hi - lo {
				case 0:
				case 1:
					picks[i] = uint32(lo)
					has.Set(i)
				default:
					return nil, fault.InvalidInput("Encountered multi-value dimension [%v] that cannot be processed with 'groupByEnableMultiValueUnnesting' "+
						"set to false. Consider setting 'groupByEnableMultiValueUnnesting' to true in your query context.", name)
				}
			}
			if list.Child.Len == 0 {
				return vector.Nulls(list.Type.Elem(), n), nil
			}
			return kernel.WithValid(list.Child.Gather(picks), has), nil
		}, nil
	},
}
