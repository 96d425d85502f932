package expr

// timeFormatInFunction is TIME_FORMAT with the names of a language: timestamp, pattern, zone, language tag.
var timeFormatInFunction = &Function{
	Name: "$TIME_FORMAT_IN", Min: 4, Max: 4,
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		b.pattern(1)
		b.zone(2)
		b.text(3)
		return b.call(Of(Varchar).NotNull().OrNull(b.typ(0).Nullable))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		zone, err := zoned(c, 2, ctx)
		if err != nil {
			return nil, err
		}
		pattern, err := patternArg(c, ctx)
		if err != nil {
			return nil, err
		}
		locale, err := constantArg(c, 3, ctx)
		if err != nil {
			return nil, err
		}
		tag, _ := locale.(string)
		pattern = pattern.In(tag)
		offsets := zone.Offsets()
		return onFirst(textKernel(func(dst []byte, ms int64) []byte { return pattern.AppendOffset(dst, ms, offsets.At(ms), zone) })), nil
	},
}
