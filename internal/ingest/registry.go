package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/secret"
)

// registry is a schema registry with the interface of Confluent's: messages begin with a byte 0 and
// the number of their schema in four bytes. What it said of a schema never changes and is kept. It
// is safe for use by many goroutines.
type registry struct {
	urls     []string
	headers  dynamicConfig
	config   dynamicConfig
	capacity int
	// compile makes a decoder of a schema and of those that it refers to.
	compile func(schema registered, references []registered) (messageDecoder, error)

	mu       sync.Mutex
	decoders map[uint32]messageDecoder
	// missing are schemas that the registry did not know, and when it was asked.
	missing map[uint32]time.Time
}

// registered is a schema as a registry answers it.
type registered struct {
	Schema     string `json:"schema"`
	Type       string `json:"schemaType"` // "": Avro
	References []struct {
		Name    string `json:"name"`
		Subject string `json:"subject"`
		Version int    `json:"version"`
	} `json:"references"`

	name string // by which another one refers to it
}

// dynamicConfig is an object of texts, some of which a provider among its members tells
// (docs/streaming.md).
type dynamicConfig map[string]json.RawMessage

// resolve returns the texts.
func (c dynamicConfig) resolve(access *Access) (map[string]string, error) {
	out := map[string]string{}
	for name, raw := range c {
		var text string
		if secret.IsProvider(name) || json.Unmarshal(raw, &text) != nil {
			continue
		}
		out[name] = text
	}
	provided, err := secret.Provided(c, access.Environment())
	if err != nil {
		return nil, err
	}
	maps.Copy(out, provided)
	return out, nil
}

const (
	// registrySchemas is how many schemas a registry keeps decoders of when its capacity isn't given,
	// and at most.
	registrySchemas = 10_000
	// registryReferences bounds the schemas that one refers to, those that these refer to included.
	registryReferences = 100
	// registryAsksAgain is after how long a schema that it did not know is asked for again: where many
	// messages name a wrong one the registry is not to be asked for each.
	registryAsksAgain = 5 * time.Second
	// registryBytes bounds an answer.
	registryBytes = 4 << 20
)

// parseRegistry reads a decoder of type schema_registry.
func parseRegistry(field string, text json.RawMessage, compile func(registered, []registered) (messageDecoder, error)) (openDecoder, error) {
	var w struct {
		URL      string        `json:"url"`
		URLs     []string      `json:"urls"`
		Capacity int           `json:"capacity"`
		Config   dynamicConfig `json:"config"`
		Headers  dynamicConfig `json:"headers"`
	}
	if err := wire.Decode(field, text, &w); err != nil {
		return nil, err
	}
	r := &registry{urls: w.URLs, headers: w.Headers, config: w.Config, capacity: registrySchemas, compile: compile,
		decoders: map[uint32]messageDecoder{}, missing: map[uint32]time.Time{}}
	if w.URL != "" {
		r.urls = append([]string{w.URL}, r.urls...)
	}
	if w.Capacity > 0 {
		r.capacity = min(w.Capacity, registrySchemas)
	}
	if len(r.urls) == 0 {
		return nil, wire.Invalid(field, "a decoder of type 'schema_registry' needs 'url' or 'urls'")
	}
	for _, at := range r.urls {
		if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, wire.Invalid(field, "'%s' is not the address of a schema registry", at)
		}
	}
	return r.open, nil
}

// open returns a decoder that asks the registry as access allows.
func (r *registry) open(access *Access) (messageDecoder, error) {
	headers, err := r.headers.resolve(access)
	if err != nil {
		return nil, err
	}
	config, err := r.config.resolve(access)
	if err != nil {
		return nil, err
	}
	c := &registryClient{registry: r, headers: headers, protocols: httpProtocols(access), clock: access.clock()}
	c.http = httpClient(access, c.protocols)
	user, password, _ := strings.Cut(config["basic.auth.user.info"], ":")
	c.user, c.password = user, secret.NewText(password)
	return c, nil
}

// registryClient decodes messages with the schemas of a registry.
type registryClient struct {
	*registry
	http      *http.Client
	protocols []string
	clock     clock.Clock
	headers   map[string]string
	user      string
	password  secret.Text
}

func (c *registryClient) Message(ctx context.Context, data []byte) (*record.Object, error) {
	if len(data) < 5 || data[0] != 0 {
		return nil, errors.New("it does not begin with the number of a schema")
	}
	id := uint32(data[1])<<24 | uint32(data[2])<<16 | uint32(data[3])<<8 | uint32(data[4])
	decoder, err := c.decoder(ctx, id)
	if err != nil {
		return nil, err
	}
	return decoder.Message(ctx, data[5:])
}

// errUnknownSchema is for a message whose schema the registry does not have.
var errUnknownSchema = errors.New("its schema is unknown to the schema registry")

// decoder returns the decoder of a schema.
func (c *registryClient) decoder(ctx context.Context, id uint32) (messageDecoder, error) {
	c.mu.Lock()
	decoder := c.decoders[id]
	asked, missing := c.missing[id]
	c.mu.Unlock()
	switch {
	case decoder != nil:
		return decoder, nil
	case missing && c.clock.Now().Sub(asked) < registryAsksAgain:
		return nil, errUnknownSchema
	}
	decoder, err := c.find(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, errUnknownSchema):
		if len(c.missing) >= c.capacity {
			clear(c.missing)
		}
		c.missing[id] = c.clock.Now()
		return nil, err
	case err != nil:
		return nil, err
	}
	if len(c.decoders) >= c.capacity {
		clear(c.decoders)
	}
	c.decoders[id] = decoder
	return decoder, nil
}

// find asks for a schema and all that it refers to.
func (c *registryClient) find(ctx context.Context, id uint32) (messageDecoder, error) {
	defer c.http.CloseIdleConnections()
	schema, err := c.get(ctx, fmt.Sprintf("/schemas/ids/%d", id))
	if err != nil {
		return nil, err
	}
	var references []registered
	seen := map[string]bool{}
	var follow func(s *registered, depth int) error
	follow = func(s *registered, depth int) error {
		for _, ref := range s.References {
			if seen[ref.Name] {
				continue
			}
			if seen[ref.Name] = true; len(seen) > registryReferences || depth > registryReferences {
				return unusableSchema{fault.InvalidInput("Schema [%d] of the schema registry refers to more than [%d] others", id,
					registryReferences)}
			}
			other, err := c.get(ctx, fmt.Sprintf("/subjects/%s/versions/%d", url.PathEscape(ref.Subject), ref.Version))
			if err != nil {
				return err
			}
			other.name = ref.Name
			if err := follow(&other, depth+1); err != nil {
				return err
			}
			references = append(references, other) // behind those that it needs
		}
		return nil
	}
	if err := follow(&schema, 0); err != nil {
		return nil, err
	}
	decoder, err := c.compile(schema, references)
	if err != nil {
		return nil, unusableSchema{fault.InvalidInput("Schema [%d] of the schema registry can't be used: [%v]", id, err)}
	}
	return decoder, nil
}

// unusableSchema is a schema that nothing can be decoded with: where messages follow each other for
// ever it is the fault of those that have it.
type unusableSchema struct{ error }

// Unwrap returns the fault.
func (e unusableSchema) Unwrap() error { return e.error }

// get asks one address after the other. That there is no such schema is an error of the message;
// that none answers is a fault.
func (c *registryClient) get(ctx context.Context, path string) (out registered, err error) {
	for _, base := range c.urls {
		var ok bool
		if out, ok, err = c.ask(ctx, strings.TrimRight(base, "/")+path); ok || ctx.Err() != nil {
			return out, err
		}
	}
	return out, err
}

// ask returns the answer of one address, and whether there is no use in asking another.
func (c *registryClient) ask(ctx context.Context, at string) (out registered, ok bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return out, true, fault.InvalidInput("The address of the schema registry is not readable").WithCause(err)
	}
	shown := secret.URL(req.URL)
	if !slices.Contains(c.protocols, req.URL.Scheme) {
		return out, true, fault.InvalidInput("Only protocols [%s] are allowed; [%s] is not", strings.Join(c.protocols, ", "), shown)
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password.Reveal())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if f := fault.Find(err); f != nil {
			return out, true, f
		}
		return out, false, fault.Unavailable("The schema registry at [%s] does not answer: %s", shown, transportProblem(err)).WithCause(err)
	}
	defer resp.Body.Close()
	switch body, err := io.ReadAll(io.LimitReader(resp.Body, registryBytes+1)); {
	case resp.StatusCode == http.StatusNotFound:
		return out, true, errUnknownSchema
	case resp.StatusCode != http.StatusOK:
		return out, false, fault.Unavailable("The schema registry at [%s] answered [%d]", shown, resp.StatusCode)
	case err != nil:
		return out, false, fault.Unavailable("The answer of the schema registry at [%s] broke off", shown).WithCause(err)
	case len(body) > registryBytes:
		return out, true, fault.InvalidInput("The answer of the schema registry at [%s] is larger than [%d] bytes", shown, registryBytes)
	case json.Unmarshal(body, &out) != nil:
		return out, false, fault.Unavailable("The answer of the schema registry at [%s] is not JSON", shown)
	}
	return out, true, nil
}
