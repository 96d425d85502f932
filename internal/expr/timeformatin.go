package expr

// timeFormatInFunction is TIME_FORMAT with the names of a language: timestamp, pattern, zone,
// language tag.
var timeFormatInFunction = &Function{
	Name: "$TIME_FORMAT_IN", Min: 4, Max: 4,
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		b.pattern(1)
		b.zone(2)
		b.text(3)
		return b.call(Of(Varchar).NotNull().OrNull(b.typ(0).Nullable))
	},
	Kernel: timeFormatKernel,
}
