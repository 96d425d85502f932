package access

import (
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth/oidc"
	"github.com/hengedb/henge/internal/fault"
)

// Login serves the endpoints by which people log in. It is safe for concurrent use.
type Login struct {
	// Providers are the authenticators of type oidc, in the order of the settings.
	Providers []*oidc.Authenticator
}

// Routes adds the endpoints. All but the one that tells who asks are open: who comes here is not
// known yet.
func (l *Login) Routes(mux *edge.Mux) {
	mux.On("GET "+Base+"/login", l.login)
	mux.On("GET "+Base+"/callback", l.callback)
	mux.On("POST "+Base+"/logout", l.logout)
	mux.On("GET "+Base+"/device", l.device)
	mux.On("GET "+Base+"/self", l.self)
}

// of returns the provider that a request names; without a name the first one.
func (l *Login) of(r *http.Request) (*oidc.Authenticator, error) {
	name := r.URL.Query().Get("authenticator")
	for _, p := range l.Providers {
		if name == "" || p.Name() == name {
			return p, nil
		}
	}
	if name != "" {
		return nil, fault.NotFound("No authenticator [%s] of type [oidc] is configured", name)
	}
	return nil, fault.NotFound("No authenticator of type [oidc] is configured")
}

// login sends a browser to the provider. Parameter [return] is the path that it comes back to.
func (l *Login) login(w http.ResponseWriter, r *http.Request) error {
	p, err := l.of(r)
	if err != nil {
		return err
	}
	to, cookie, err := p.Login(r.URL.Query().Get("return"))
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
	return nil
}

// callback takes a browser that comes back. The answer is a page that goes on by itself and no
// redirect: browsers don't send cookies with SameSite=Strict along a redirect that another site has
// begun, and that of the session is one.
func (l *Login) callback(w http.ResponseWriter, r *http.Request) error {
	if len(l.Providers) == 0 {
		return fault.NotFound("No authenticator of type [oidc] is configured")
	}
	p := l.Providers[0] // which says what is wrong, if it is nobody's
	for _, other := range l.Providers {
		if other.Mine(r) {
			p = other
		}
	}
	to, cookies, err := p.Callback(r.Context(), r)
	if err != nil {
		return err
	}
	for _, cookie := range cookies {
		http.SetCookie(w, cookie)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code in it
	w.WriteHeader(http.StatusOK)
	at := html.EscapeString(to)
	_, _ = io.WriteString(w, `<!doctype html><title>Logged in</title><meta http-equiv="refresh" content="0;url=`+at+
		`"><p>Logged in. <a href="`+at+`">Go on</a>`) // the client may be gone
	return nil
}

// logout ends the session of a browser. The browser is sent on to the provider, which has a session
// of its own; a program is told where to.
func (l *Login) logout(w http.ResponseWriter, r *http.Request) error {
	at := ""
	for _, p := range l.Providers {
		cookie, to, err := p.Logout(r)
		if err != nil {
			return err
		}
		http.SetCookie(w, cookie)
		if to != "" {
			at = to
		}
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store") // the address has a token in it
	switch {
	case at == "":
		w.WriteHeader(http.StatusNoContent)
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Location", at)
		w.WriteHeader(http.StatusSeeOther)
	default:
		edge.WriteJSON(w, http.StatusOK, map[string]string{"logoutUrl": at})
	}
	return nil
}

// device answers what a program needs to know for the device flow.
func (l *Login) device(w http.ResponseWriter, r *http.Request) error {
	p, err := l.of(r)
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, p.Device())
	return nil
}
