package stringfn

import (
	"crypto/md5" // #nosec: the functions are named for the algorithms
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/javatext"
)

var hashFunctions = []*expr.Function{
	hash("MD5", func(b []byte) []byte { h := md5.Sum(b); return h[:] }),
	hash("SHA1", func(b []byte) []byte { h := sha1.Sum(b); return h[:] }),
	hash("SHA256", func(b []byte) []byte { h := sha256.Sum256(b); return h[:] }),
	hash("SHA512", func(b []byte) []byte { h := sha512.Sum512(b); return h[:] }),
}

func hash(name string, sum func([]byte) []byte) *expr.Function {
	return &expr.Function{
		Name: name, Min: 1, Max: 1,
		Summary: "Returns the " + name + " hash of a string in hexadecimal.",
		Forms:   []string{"$F(<CHARACTER>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			b.Text(0)
			return b.Strict(expr.Of(expr.Varchar))
		},
		Kernel: expr.Fixed(kernel.Unary(func(s string) string { return hex.EncodeToString(sum([]byte(s))) })),
	}
}

var decodeBase64Function = &expr.Function{
	Name: "DECODE_BASE64_UTF8", NativeName: "decode_base64_utf8", Min: 1, Max: 1,
	Summary: "Decodes base64 to a string. Returns NULL if the argument is not valid base64.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Call(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Partial1(func(s string) (string, bool) {
		out, ok := javatext.DecodeBase64(s)
		if !ok {
			return "", false
		}
		if !utf8.Valid(out) {
			return strings.ToValidUTF8(string(out), "\ufffd"), true
		}
		return string(out), true
	})),
}
