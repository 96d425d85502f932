package role

import (
	"net/http"

	"github.com/hengedb/henge/internal/obs"
)

// traced hands the trace of a request's context on to the process that is asked.
type traced struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := obs.TraceOf(r.Context()); ok {
		r = r.Clone(r.Context()) // the caller's request must stay as it is
		obs.Inject(r.Context(), r.Header)
	}
	return t.Transport.RoundTrip(r)
}
