package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// The versions of the protocol, newest first. Those from perRequest on know no sessions: each
// request says its version itself.
var versions = []string{perRequest, "2025-11-25", "2025-06-18", "2025-03-26"}

const perRequest = "2026-07-28"

// assumed is the version of requests that do not say one.
const assumed = "2025-03-26"

// The headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// maxMessage bounds a message: a small batch of rows.
const maxMessage = 1 << 20

// Limits apply to all tools.
type Limits struct {
	// Rows and Bytes limit one response.
	Rows  int
	Bytes int64
	// ResultBytes is the maximum size of a query result that is kept for the following pages.
	// KeptBytes is the maximum size of all kept results, and KeepFor how long they are kept.
	ResultBytes, KeptBytes int64
	KeepFor                time.Duration
	// Timeout is the timeout of one call.
	Timeout time.Duration
	// ScannedBytes is the maximum size of the segments that a query may read.
	ScannedBytes int64
	// Calls is the maximum number of concurrent calls.
	Calls int
}

// Options are the settings of the endpoint.
type Options struct {
	// Routes are the routes of the port.
	Routes http.Handler
	Limits Limits
	// Lane is the lane of its queries; "": none.
	Lane    string
	Version string
	// Memory is the budget of kept results.
	Memory *budget.Budget
	Clock  clock.Clock
}

// API serves the endpoint. It is safe for concurrent use.
type API struct {
	o        Options
	sessions *sessions
	kept     *kept
	calls    chan struct{} // has one for each that runs
}

// New returns the endpoint.
func New(o Options) *API {
	return &API{
		o: o, sessions: &sessions{clock: o.Clock, byID: map[string]*session{}}, calls: make(chan struct{}, max(o.Limits.Calls, 1)),
		kept: newKept(o.Limits, o.Memory, o.Clock),
	}
}

// Routes adds the endpoint to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("POST "+Path, edge.JSONOnly(a.post))
	mux.On("DELETE "+Path, a.delete)
	mux.On("GET "+Path, func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", "POST, DELETE") // nothing is sent without being asked for
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	})
}

// delete ends a session.
func (a *API) delete(w http.ResponseWriter, r *http.Request) error {
	if !a.sessions.end(r.Header.Get(sessionHeader), edge.UserOf(r)) {
		return fault.NotFound("There is no session [%.100s]", r.Header.Get(sessionHeader))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// call is a message with what was found out about it.
type call struct {
	*message
	r       *http.Request
	access  *auth.Access
	user    string
	session string // "": none
	version string
	key     string // of rows that are sent; "": none
}

func (a *API) post(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	edge.Decoded(r.Context())
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return edge.TooLarge("A message may have [%d] bytes", maxMessage)
	}
	if err != nil {
		return fault.Malformed("The body of the request could not be read").WithCause(err)
	}
	m, problem := decode(body)
	if problem != nil {
		edge.WriteJSON(w, http.StatusBadRequest, answer{JSONRPC: "2.0", ID: json.RawMessage("null"), Error: problem})
		return nil
	}
	c := &call{message: m, r: r, access: auth.Of(r.Context()), user: edge.UserOf(r), session: r.Header.Get(sessionHeader)}
	if status, problem := a.agree(c); problem != nil {
		edge.WriteJSON(w, status, answer{JSONRPC: "2.0", ID: orNull(m.ID), Error: problem})
		return nil
	}
	if m.answers || m.ID == nil {
		a.notified(c)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if note := audit.Of(r.Context()); note != nil {
		note.Taken = true // by what tools send, or a tool says otherwise
	}
	ctx, end := a.sessions.run(r.Context(), c.session, c.user, m.ID)
	defer end()
	result, problem := a.dispatch(ctx, w, c)
	if errors.Is(context.Cause(ctx), errCancelled) {
		result, problem = nil, refuse(codeCancelled, "The request was cancelled")
	}
	status := http.StatusOK
	if problem != nil && problem.Code == codeUnknownMethod && c.version >= perRequest {
		status = http.StatusNotFound
	}
	if object, ok := result.(map[string]any); ok && problem == nil && c.version >= perRequest {
		object["resultType"] = "complete"
		object["_meta"] = map[string]any{"io.modelcontextprotocol/serverInfo": a.info()}
	}
	edge.WriteJSON(w, status, answer{JSONRPC: "2.0", ID: m.ID, Result: result, Error: problem})
	return nil
}

func orNull(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

// agree finds the version of the protocol that a message is of, and refuses what does not belong to
// it.
func (a *API) agree(c *call) (status int, problem *rpcError) {
	header := c.r.Header.Get(versionHeader)
	var params struct {
		Meta struct {
			Version *string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = json.Unmarshal(c.Params, &params) // what reads them says what is wrong
	said := header
	if v := params.Meta.Version; v != nil && c.ID != nil {
		if said = *v; header != said {
			return http.StatusBadRequest, refuse(codeHeaderMismatch,
				"Header [%s] does not have the version [%.40s] of the message", versionHeader, said)
		}
	}
	switch {
	case said != "" && !slices.Contains(versions, said) && c.Method != "initialize":
		problem = refuse(codeUnknownProtocol, "Version [%.40s] of the protocol is not supported; use one of %v", said, versions)
		problem.Data = map[string]any{"supported": versions, "requested": said}
		return http.StatusBadRequest, problem
	case said >= perRequest && c.ID != nil:
		if params.Meta.Version == nil {
			return http.StatusBadRequest, refuse(codeParams, "Member [io.modelcontextprotocol/protocolVersion] of [_meta] is missing")
		}
		if m := c.r.Header.Get(methodHeader); m != c.Method {
			return http.StatusBadRequest, refuse(codeHeaderMismatch,
				"Header [%s] does not have the method [%.100s] of the message", methodHeader, c.Method)
		}
		if name := params.Name + params.URI; name != "" && !sameName(c.r.Header.Get(nameHeader), name) {
			return http.StatusBadRequest, refuse(codeHeaderMismatch,
				"Header [%s] does not have the name [%.100s] of the message", nameHeader, name)
		}
		c.version, c.session = said, ""
		return 0, nil
	}
	c.version = said
	if c.session == "" {
		if said == "" {
			c.version = assumed
		}
		return 0, nil
	}
	of, ok := a.sessions.version(c.session, c.user)
	if !ok && c.Method != "initialize" {
		return http.StatusNotFound, refuse(codeInvalid, "There is no session [%.100s]; start one with initialize", c.session)
	}
	if said == "" {
		c.version = of
	}
	return 0, nil
}

// notified takes what needs no answer.
func (a *API) notified(c *call) {
	if c.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		Request json.RawMessage `json:"requestId"`
	}
	if c.read(&p) == nil {
		a.sessions.cancel(c.session, c.user, p.Request)
	}
}

// dispatch answers a request.
func (a *API) dispatch(ctx context.Context, w http.ResponseWriter, c *call) (any, *rpcError) {
	switch c.Method {
	case "initialize":
		return a.initialize(w, c)
	case "server/discover":
		return cached(map[string]any{"supportedVersions": versions, "capabilities": capabilities, "instructions": instructions}), nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		return a.listTools(ctx, c)
	case "tools/call":
		return a.callTool(ctx, c)
	case "resources/list":
		return a.listResources(c)
	case "resources/templates/list":
		return cached(map[string]any{"resourceTemplates": []any{}}), nil
	case "resources/read":
		return a.readResource(c)
	}
	return nil, refuse(codeUnknownMethod, "Method [%.100s] is not known", c.Method)
}

// cached adds to a result how long it may be kept. Lists depend on who asks.
func cached(result map[string]any) map[string]any {
	result["ttlMs"], result["cacheScope"] = 60_000, "private"
	return result
}

var capabilities = map[string]any{"tools": map[string]any{}, "resources": map[string]any{}}

const instructions = "Henge is a real-time analytics store that is queried in SQL. Start with list_datasources and describe_datasource. " +
	"Filter on __time, which determines the segments that are read. Answers are limited; `truncated` means that rows are missing, and " +
	"next_page returns them. " +
	"The resource henge://llms.txt lists the documentation."

func (a *API) info() map[string]any {
	return map[string]any{"name": "henge", "title": "Henge", "version": a.o.Version}
}

// initialize begins a session, in the version that the client asks for if it is known.
func (a *API) initialize(w http.ResponseWriter, c *call) (any, *rpcError) {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if problem := c.read(&p); problem != nil {
		return nil, problem
	}
	if p.Version == "" {
		return nil, refuse(codeParams, "Parameter [protocolVersion] of [initialize] is missing")
	}
	version := versions[1] // the newest one with sessions
	if slices.Contains(versions, p.Version) && p.Version < perRequest {
		version = p.Version
	}
	w.Header().Set(sessionHeader, a.sessions.begin(c.user, version))
	return map[string]any{
		"protocolVersion": version, "capabilities": capabilities, "serverInfo": a.info(), "instructions": instructions,
	}, nil
}
