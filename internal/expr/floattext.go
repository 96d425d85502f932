package expr

// floatTextFunction gives the text of a FLOAT with the digits that tell it from other FLOATs, 0.1 and not 0.10000000149011612, as dimensions and
// filters of native queries see it.
var floatTextFunction = &Function{
	Name: "$FLOAT_TEXT", Min: 1, Max: 1,
	Bind: func(b *binding) (Expr, error) {
		b.cast(0, Of(Float))
		return b.strict(Of(Varchar))
	},
	Kernel: fixed(unary(floatText)),
}

func floatText(x float32) string {
	var buf [32]byte
	return string(AppendFloat(buf[:0], x))
}
