package expr

import (
	"crypto/md5" // #nosec: the functions are named for the algorithms
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/vector"
)

var hashFunctions = []*Function{
	hash("MD5", func(b []byte) []byte { h := md5.Sum(b); return h[:] }),
	hash("SHA1", func(b []byte) []byte { h := sha1.Sum(b); return h[:] }),
	hash("SHA256", func(b []byte) []byte { h := sha256.Sum256(b); return h[:] }),
	hash("SHA512", func(b []byte) []byte { h := sha512.Sum512(b); return h[:] }),
}

func hash(name string, sum func([]byte) []byte) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1,
		Summary: "Returns the " + name + " hash of a string in hexadecimal.",
		Forms:   []string{"$F(<CHARACTER>)"},
		Bind: func(b *binding) (Expr, error) {
			b.text(0)
			return b.strict(Of(Varchar))
		},
		Kernel: fixed(unary(func(s string) string { return hex.EncodeToString(sum([]byte(s))) })),
	}
}

var decodeBase64Function = &Function{
	Name: "DECODE_BASE64_UTF8", NativeName: "decode_base64_utf8", Min: 1, Max: 1,
	Summary: "Decodes base64 to text; what is no base64 gives NULL.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		return b.call(Of(Varchar))
	},
	Kernel: fixed(partial1(func(s string) (string, bool) {
		out, ok := decodeBase64(s)
		if !ok {
			return "", false
		}
		if !utf8.Valid(out) {
			return strings.ToValidUTF8(string(out), "\ufffd"), true
		}
		return string(out), true
	})),
}

// decodeBase64 takes padding as optional, as Java's decoder does.
func decodeBase64(s string) ([]byte, bool) {
	out, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return out, err == nil && !strings.ContainsAny(s, "\r\n")
}

var decodeComplexFunction = &Function{
	Name: "DECODE_BASE64_COMPLEX", Aliases: []string{"COMPLEX_DECODE_BASE64"}, NativeName: "complex_decode_base64", Min: 2, Max: 2,
	Summary: "Decodes base64 to a value of a complex type.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		name := b.constantText(0, "type")
		b.text(1)
		if known := sketchNames[name]; known != "" {
			name = known
		}
		return b.call(ComplexOf(name))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		t := c.T.Runtime()
		decode := partial1(func(s string) (string, bool) {
			out, ok := decodeBase64(s)
			return string(out), ok
		})
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			v, err := decode(args[1:], n, valid)
			if err != nil {
				return nil, err
			}
			for i, s := range v.Strings {
				if valid.Get(i) && !v.IsNull(i) {
					if err := CheckSketch(t.ComplexName(), s); err != nil {
						return nil, err
					}
				}
			}
			return asComplex(v, t), nil
		}, nil
	},
}

// asComplex returns a vector of strings as one of serialised complex values.
func asComplex(v *vector.Vector, t vector.Type) *vector.Vector {
	if v == nil {
		return nil
	}
	out := *v
	if out.Dict != nil {
		out = *v.Flat()
	}
	out.Type = t
	return &out
}

var randomFunction = &Function{
	Name: "RANDOM", Aliases: []string{"RAND"}, Min: 0, Max: 0, Volatile: true,
	Summary: "Returns a random number from 0 up to, not including, 1, another for each row.",
	Forms:   []string{"$F()"},
	Bind:    func(b *binding) (Expr, error) { return b.call(Of(Double).NotNull()) },
	Kernel: fixed(func(_ []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out := make([]float64, n)
		for i := range out {
			out[i] = rand.Float64()
		}
		return vector.FromDoubles(out), nil
	}),
}

// sampleFunction is what TABLESAMPLE .. REPEATABLE (seed) asks of the columns of a row: a number
// from 0 up to, not including, 1, that only the seed and the values of the row decide, so that
// neither segments nor threads matter.
var sampleFunction = &Function{
	Name: "$SAMPLE", Min: 1, Max: -1, SeesNulls: true, SeesLists: true,
	Bind: func(b *binding) (Expr, error) { return b.call(Of(Double).NotNull()) },
	Kernel: fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		hashes := make([]uint64, n)
		vector.HashRows(args, hashes)
		out := make([]float64, n)
		for i, h := range hashes {
			out[i] = float64(vector.HashLong(h)>>11) / (1 << 53)
		}
		return vector.FromDoubles(out), nil
	}),
}
