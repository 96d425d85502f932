package stringfn

import (
	"net/netip"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// parseIPv4 reads a dotted quad of four decimal numbers; nothing else is an address. Blanks around
// it don't count, as in Druid. See quirk Q018.
func parseIPv4(s string) (uint32, bool) {
	if s = strings.Trim(s, " "); len(s) > 15 {
		return 0, false
	}
	var out uint32
	parts := 0
	for rest, more := s, true; more; parts++ {
		var part string
		if part, rest, more = strings.Cut(rest, "."); len(part) == 0 || len(part) > 3 || parts == 4 {
			return 0, false
		}
		n := uint32(0)
		for i := 0; i < len(part); i++ {
			if part[i] < '0' || part[i] > '9' {
				return 0, false
			}
			n = n*10 + uint32(part[i]-'0')
		}
		if n > 255 {
			return 0, false
		}
		out = out<<8 | n
	}
	return out, parts == 4
}

func formatIPv4(n uint32) string {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

// address wants an address as text or as a number.
func address(b *expr.Binding, i int) {
	switch t := b.Type(i); {
	case t.IsCharacter():
	case t.Base == expr.Null:
		b.Cast(i, expr.Of(expr.Varchar))
	case t.IsInteger():
		b.Cast(i, expr.Of(expr.BigInt))
	default:
		b.Mismatch()
	}
}

// addressOrOther wants an address or any other scalar, which is none.
func addressOrOther(b *expr.Binding, i int) {
	if t := b.Type(i); t.IsFractional() || t.IsTime() || t.Base == expr.Boolean {
		b.Cast(i, expr.Of(expr.Varchar))
		return
	}
	address(b, i)
}

// address6 wants an address as text; a number is none.
func address6(b *expr.Binding, i int) {
	if b.Type(i).IsNumeric() {
		b.Cast(i, expr.Of(expr.Varchar))
		return
	}
	b.Text(i)
}

var ipv4ParseFunction = &expr.Function{
	Name: "IPV4_PARSE", NativeName: "ipv4_parse", Min: 1, Max: 1,
	Summary: "Converts an IPv4 address to a number. A number in the range of addresses is returned unchanged.",
	Forms:   []string{"$F(expr)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		addressOrOther(b, 0)
		return b.Call(expr.Of(expr.BigInt))
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return kernel.Partial1(func(n int64) (int64, bool) { return n, n == int64(uint32(n)) }), nil
		}
		return kernel.Partial1(func(s string) (int64, bool) {
			n, ok := parseIPv4(s)
			return int64(n), ok
		}), nil
	},
}

var ipv4StringifyFunction = &expr.Function{
	Name: "IPV4_STRINGIFY", NativeName: "ipv4_stringify", Min: 1, Max: 1,
	Summary: "Converts a number to an IPv4 address. A string that is an address is returned unchanged.",
	Forms:   []string{"$F(expr)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		addressOrOther(b, 0)
		return b.Call(expr.Of(expr.Char))
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return kernel.Partial1(func(n int64) (string, bool) { return formatIPv4(uint32(n)), n == int64(uint32(n)) }), nil
		}
		return kernel.Partial1(func(s string) (string, bool) {
			_, ok := parseIPv4(s)
			return s, ok
		}), nil
	},
}

var ipv4MatchFunction = &expr.Function{
	Name: "IPV4_MATCH", NativeName: "ipv4_match", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether an IPv4 address, given as a string or as a number, is in a subnet.",
	Forms:   []string{"$F(expr, string)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		address(b, 0)
		text := b.ConstantText(1, "subnet")
		if _, ok := parseSubnet4(text); b.Err == nil && !ok {
			b.Fail("Function[ipv4_match] subnet arg has an invalid format: %s", text)
		}
		return b.Call(expr.Of(expr.Boolean).NotNull())
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		x, _ := expr.LiteralValue(c.Args[1])
		s, _ := x.(string)
		subnet, _ := parseSubnet4(s)
		if c.Args[0].Type().Runtime() == vector.Long {
			return orFalse(kernel.Unary(func(n int64) int64 { return kernel.Bool(n == int64(uint32(n)) && subnet.contains(uint32(n))) })), nil
		}
		return orFalse(kernel.Unary(func(s string) int64 {
			n, ok := parseIPv4(s)
			return kernel.Bool(ok && subnet.contains(n))
		})), nil
	},
}

// orFalse runs a predicate on the first argument and makes it false where that is NULL.
func orFalse(k expr.Kernel) expr.Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		v, err := k(args[:1], n, nil)
		if err != nil || args[0].Valid == nil {
			return v, err
		}
		for i := range v.Longs {
			if args[0].IsNull(i) {
				v.Longs[i] = 0
			}
		}
		return v, nil
	}
}

type subnet4 struct{ address, mask uint32 }

func (s subnet4) contains(n uint32) bool { return n&s.mask == s.address }

// parseSubnet4 reads a.b.c.d/bits.
func parseSubnet4(s string) (subnet4, bool) {
	address, bits, divided := strings.Cut(s, "/")
	n, ok := parseIPv4(address)
	length, digits := expr.ParseDigits(bits)
	if !ok || !divided || !digits || length > 32 || bits[0] == '+' || bits[0] == '-' {
		return subnet4{}, false
	}
	mask := uint32(0)
	if length > 0 {
		mask = ^uint32(0) << (32 - length)
	}
	return subnet4{address: n & mask, mask: mask}, true
}

var ipv6MatchFunction = &expr.Function{
	Name: "IPV6_MATCH", NativeName: "ipv6_match", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether an IPv6 address is in a subnet.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		address6(b, 0)
		text := b.ConstantText(1, "subnet")
		if _, ok := parseSubnet6(text); b.Err == nil && !ok {
			b.Fail("Function[ipv6_match] subnet arg has an invalid format: %s", text)
		}
		return b.Call(expr.Of(expr.Boolean).NotNull())
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		x, _ := expr.LiteralValue(c.Args[1])
		s, _ := x.(string)
		subnet, _ := parseSubnet6(s)
		return orFalse(kernel.Unary(func(s string) int64 {
			a, err := netip.ParseAddr(s)
			return kernel.Bool(err == nil && a.Is6() && !a.Is4In6() && a.Zone() == "" && subnet.Contains(a))
		})), nil
	},
}

func parseSubnet6(s string) (netip.Prefix, bool) {
	if !strings.Contains(s, "/") {
		s += "/128"
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err == nil && p.Addr().Is6()
}
