package edge

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/obs"
)

// Dialect is the product name in the path of a request. Responses under `service` have the shapes
// of the interface document, responses under an alias those of Druid where the two differ.
type Dialect struct {
	// Name is "service" or one of service.api.aliases.
	Name string
}

type dialectKey struct{}

// DialectOf returns the dialect of a request; the default is `service`.
func DialectOf(ctx context.Context) Dialect {
	if d, ok := ctx.Value(dialectKey{}).(Dialect); ok {
		return d
	}
	return Dialect{Name: obs.Product}
}

// IsAlias reports whether the path has another name than `service`.
func (d Dialect) IsAlias() bool { return d.Name != obs.Product }

// Path returns a path of the interface under this name, as the client wrote it.
func (d Dialect) Path(canonical string) string {
	if rest, ok := strings.CutPrefix(canonical, "/"+obs.Product); ok && d.IsAlias() {
		return "/" + d.Name + rest
	}
	return canonical
}

// Header returns the product header with the given suffix: Header("SQL-Query-Id") is
// X-Service-SQL-Query-Id.
func (d Dialect) Header(rest string) string {
	return "X-" + strings.ToUpper(d.Name[:1]) + d.Name[1:] + "-" + rest
}

// SetHeader sets the product header with the given suffix, in the spelling of the interface, which
// the standard library would change. Control characters become blanks. JSON is written in ASCII;
// other values that are not ASCII are omitted.
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
// /druid-ext/... likewise. The wrapped handler sees only canonical paths; the Dialect of the
// request contains the name.
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
