package edge

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/obs"
)

// Dialect is the product name under which a request came. `service` is answered in the shapes of
// the interface document, an alias in those of the reference system where the two differ.
type Dialect struct {
	// Name is "service" or one of service.api.aliases.
	Name string
}

type dialectKey struct{}

// DialectOf returns the dialect of a request; requests that no mapper has seen are of `service`.
func DialectOf(ctx context.Context) Dialect {
	if d, ok := ctx.Value(dialectKey{}).(Dialect); ok {
		return d
	}
	return Dialect{Name: obs.Product}
}

// IsAlias reports whether the request came under another name than `service`.
func (d Dialect) IsAlias() bool { return d.Name != obs.Product }

// Header returns the product's header with the given rest: Header("SQL-Query-Id") is
// X-Service-SQL-Query-Id.
func (d Dialect) Header(rest string) string {
	return "X-" + strings.ToUpper(d.Name[:1]) + d.Name[1:] + "-" + rest
}

// SetHeader sets the product's header with the given rest, in the letters of the interface, which
// the standard library would change. Control characters become blanks. JSON is written in ASCII;
// other text that is not is left out.
func (d Dialect) SetHeader(h http.Header, rest, value string) {
	var out []byte
	for _, r := range value {
		switch {
		case r < ' ' || r == 0x7f:
			out = append(out, ' ')
		case r < 0x7f:
			out = append(out, byte(r))
		case !strings.HasPrefix(value, "{"):
			return
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	h[d.Header(rest)] = []string{string(out)}
}

// MapNames serves the paths of every alias as those of `service`: /druid/v2/sql as /service/v2/sql,
// /druid-ext/... likewise. The handler behind it sees canonical paths only and finds the name in
// the request's Dialect.
func MapNames(aliases []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, alias := range aliases {
			rest, ok := strings.CutPrefix(r.URL.Path, "/"+alias)
			if !ok || rest != "" && rest[0] != '/' && rest[0] != '-' {
				continue
			}
			r2 := r.WithContext(context.WithValue(r.Context(), dialectKey{}, Dialect{Name: alias}))
			u := *r.URL
			u.Path = "/" + obs.Product + rest
			if u.RawPath != "" {
				u.RawPath = "/" + obs.Product + strings.TrimPrefix(u.RawPath, "/"+alias)
			}
			r2.URL = &u
			r = r2
			break
		}
		next.ServeHTTP(w, r)
	})
}
