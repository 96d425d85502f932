package expr

import (
	"net/netip"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

// parseIPv4 reads a dotted quad of four decimal numbers; nothing else is an address. Blanks around
// it don't count, as in the reference.
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
func (b *binding) address(i int) {
	switch t := b.typ(i); {
	case t.IsCharacter():
	case t.Base == Null:
		b.cast(i, Of(Varchar))
	case t.IsInteger():
		b.cast(i, Of(BigInt))
	default:
		b.mismatch()
	}
}

// addressOrOther wants an address or any other scalar, which is none.
func (b *binding) addressOrOther(i int) {
	if t := b.typ(i); t.IsFractional() || t.IsTime() || t.Base == Boolean {
		b.cast(i, Of(Varchar))
		return
	}
	b.address(i)
}

// address6 wants an address as text; a number is none.
func (b *binding) address6(i int) {
	if b.typ(i).IsNumeric() {
		b.cast(i, Of(Varchar))
		return
	}
	b.text(i)
}

var ipv4ParseFunction = &Function{
	Name: "IPV4_PARSE", NativeName: "ipv4_parse", Min: 1, Max: 1,
	Summary: "Returns the number of an IPv4 address given as text; a number in the range of addresses is returned as it is.",
	Forms:   []string{"$F(expr)"},
	Bind: func(b *binding) (Expr, error) {
		b.addressOrOther(0)
		return b.call(Of(BigInt))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return partial1(func(n int64) (int64, bool) { return n, n == int64(uint32(n)) }), nil
		}
		return partial1(func(s string) (int64, bool) {
			n, ok := parseIPv4(s)
			return int64(n), ok
		}), nil
	},
}

var ipv4StringifyFunction = &Function{
	Name: "IPV4_STRINGIFY", NativeName: "ipv4_stringify", Min: 1, Max: 1,
	Summary: "Returns the text of an IPv4 address given as a number; text that is an address is returned as it is.",
	Forms:   []string{"$F(expr)"},
	Bind: func(b *binding) (Expr, error) {
		b.addressOrOther(0)
		return b.call(Of(Char))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return partial1(func(n int64) (string, bool) { return formatIPv4(uint32(n)), n == int64(uint32(n)) }), nil
		}
		return partial1(func(s string) (string, bool) {
			_, ok := parseIPv4(s)
			return s, ok
		}), nil
	},
}

var ipv4MatchFunction = &Function{
	Name: "IPV4_MATCH", NativeName: "ipv4_match", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether an IPv4 address, as text or a number, is in a subnet such as 10.0.0.0/8.",
	Forms:   []string{"$F(expr, string)"},
	Bind: func(b *binding) (Expr, error) {
		b.address(0)
		text := b.constantText(1, "subnet")
		if _, ok := parseSubnet4(text); b.err == nil && !ok {
			b.fail("Function[ipv4_match] subnet arg has an invalid format: %s", text)
		}
		return b.call(Of(Boolean).NotNull())
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		x, _ := literalValue(c.Args[1])
		s, _ := x.(string)
		subnet, _ := parseSubnet4(s)
		if c.Args[0].Type().Runtime() == vector.Long {
			return orFalse(unary(func(n int64) int64 { return b2i(n == int64(uint32(n)) && subnet.contains(uint32(n))) })), nil
		}
		return orFalse(unary(func(s string) int64 {
			n, ok := parseIPv4(s)
			return b2i(ok && subnet.contains(n))
		})), nil
	},
}

// orFalse runs a predicate on the first argument and makes it false where that is NULL.
func orFalse(k Kernel) Kernel {
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
	length, digits := parseDigits(bits)
	if !ok || !divided || !digits || length > 32 || bits[0] == '+' || bits[0] == '-' {
		return subnet4{}, false
	}
	mask := uint32(0)
	if length > 0 {
		mask = ^uint32(0) << (32 - length)
	}
	return subnet4{address: n & mask, mask: mask}, true
}

var ipv6MatchFunction = &Function{
	Name: "IPV6_MATCH", NativeName: "ipv6_match", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether an IPv6 address is in a subnet such as 75e9:efa4:29c6:85f6::/64.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.address6(0)
		text := b.constantText(1, "subnet")
		if _, ok := parseSubnet6(text); b.err == nil && !ok {
			b.fail("Function[ipv6_match] subnet arg has an invalid format: %s", text)
		}
		return b.call(Of(Boolean).NotNull())
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		x, _ := literalValue(c.Args[1])
		s, _ := x.(string)
		subnet, _ := parseSubnet6(s)
		return orFalse(unary(func(s string) int64 {
			a, err := netip.ParseAddr(s)
			return b2i(err == nil && a.Is6() && !a.Is4In6() && a.Zone() == "" && subnet.Contains(a))
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
