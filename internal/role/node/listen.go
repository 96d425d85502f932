package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
)

// grace is how long requests under way may go on after a stop was asked for.
const grace = 5 * time.Second

// listener is one role's port.
type listener struct {
	role   string
	net    net.Listener
	server *http.Server
}

// listen opens the port of a role.
func listen(role, bind string, port int64) (*listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(bind, strconv.FormatInt(port, 10)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fault.Conflict("Port [%d] of the %s is in use by another program. Stop it, or choose another port with service.%s.plaintextPort (0 takes a free one).", port, role, role)
	case errors.Is(err, syscall.EACCES):
		return nil, fault.InvalidInput("Port [%d] of the %s needs more privileges than this process has; choose one above 1023 with service.%s.plaintextPort", port, role, role)
	case err != nil:
		return nil, fmt.Errorf("listening for the %s on port [%d]: %w", role, port, err)
	}
	return &listener{role: role, net: l}, nil
}

// port returns the port that is really listened on.
func (l *listener) port() int { return l.net.Addr().(*net.TCPAddr).Port }

// serve answers requests until stop is called.
func (l *listener) serve(handler http.Handler, log *slog.Logger) error {
	l.server = &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	if err := l.server.Serve(l.net); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the %s: %w", l.role, err)
	}
	return nil
}

// stop lets requests under way end, but not for longer than the grace period.
func (l *listener) stop(ctx context.Context) {
	if l.server == nil {
		_ = l.net.Close() // nothing was served
		return
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close() // what is left is cut off
	}
}

// handler makes what a port serves of its routes: names mapped to the canonical ones, answers compressed, and plain answers where there
// is no route.
func handler(mux *edge.Mux, aliases []string) http.Handler {
	return edge.MapNames(aliases, gzhttp.GzipHandler(withoutRoute(mux.ServeMux)))
}

// withoutRoute answers 404 and 405 the way the interface does: with an empty body.
func withoutRoute(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := httptest.NewRecorder()
		h.ServeHTTP(probe, r)
		if allow := probe.Header().Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
		}
		if location := probe.Header().Get("Location"); location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(probe.Code)
	})
}
