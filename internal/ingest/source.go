package ingest

import (
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Source says where input lies. The concrete sources are Inline, Local, HTTP, Objects, HDFS, SQL,
// Datasource and Combining; nothing else implements it. A Source is immutable, validated when it is
// parsed and safe for use by many goroutines.
type Source interface {
	// Type returns the type id of the wire form.
	Type() string
	// List returns what there is to read, in an order that does not change from call to call. Empty
	// files are left out.
	List(ctx context.Context, access *Access) ([]Entity, error)
	// MarshalJSON returns the wire form with secrets replaced.
	json.Marshaler
	source()
}

// Entity is one file, object or text. It is safe for use by many goroutines.
type Entity interface {
	// Name is what errors and reports call it: a URI, or "" for inline text.
	Name() string
	// Size returns its bytes as stored, or -1 when that is unknown.
	Size() int64
	// Seekable reports whether Open takes an offset.
	Seekable() bool
	// Open starts reading at offset, which is 0 unless the entity is seekable. The caller closes the
	// reader. Errors of the environment come as faults that name the entity.
	Open(ctx context.Context, offset int64) (io.ReadCloser, error)
	// SystemField returns the value of a system field (__file_uri, __file_path, __file_bucket) and
	// whether the entity has it.
	SystemField(name string) (string, bool)
}

// Access says what sources may touch. The zero value allows everything and uses the machine's
// clock.
type Access struct {
	// LocalDirs are the folders that local sources may read, after links are resolved; nil: any.
	LocalDirs []string
	// Private are folders, or files, that none of LocalDirs above them allows to read: the data
	// directory of the process and keys.
	Private []string
	// CheckAddress, when set, is asked before a connection is made, for redirects too, and may refuse
	// with a fault. CheckWeb, when set, is asked in its place for what comes from an address that a
	// source names by a URL or an endpoint.
	CheckAddress, CheckWeb func(netip.AddrPort) error
	// HTTPHosts are the hosts that input over HTTP may come from, .example.com for all below it; nil:
	// any.
	HTTPHosts []string
	// JDBC are the parameters that URIs of databases may have; nil: those that are known. DropJDBC
	// says that others are left out and not refused.
	JDBC     []string
	DropJDBC bool
	// HTTPProtocols are the allowed schemes; nil: http and https.
	HTTPProtocols []string
	// HTTPHeaders are the allowed names of request headers; nil: any.
	HTTPHeaders []string
	// HDFS says how Hadoop file systems are reached.
	HDFS HDFSAccess
	// Getenv resolves passwords of type "environment"; nil: they are refused.
	Getenv func(name string) (string, bool)
	// OpenDatasource reads the rows of a datasource of this system; nil: sources of that type are
	// refused.
	OpenDatasource func(context.Context, *Datasource) (ObjectReader, error)
	// S3 is the store of objects whose source names neither a store nor keys; the zero value is the
	// public one with the machine's credentials.
	S3 s3.Options
	// Clock times retries.
	Clock clock.Clock
}

// web returns the access for what a source names by a URL.
func (a *Access) web() *Access {
	if a == nil || a.CheckWeb == nil {
		return a
	}
	out := *a
	out.CheckAddress = a.CheckWeb
	return &out
}

// checkHost refuses hosts that input over HTTP may not come from.
func (a *Access) checkHost(u *url.URL) error {
	if a == nil || len(a.HTTPHosts) == 0 {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, allowed := range a.HTTPHosts {
		allowed = strings.ToLower(allowed)
		if name == allowed || strings.HasPrefix(allowed, ".") && strings.HasSuffix(name, allowed) {
			return nil
		}
	}
	return fault.Forbidden("Host [%s] is not among the hosts that input may come from; service.ingestion.http.allowedHosts names them", name)
}

// JDBCProperties returns the parameters of a URI of a database that are allowed, by names without
// regard to case. Another one is refused, or left out.
func (a *Access) JDBCProperties(query url.Values) (url.Values, error) {
	allowed := jdbcProperties
	if a != nil && a.JDBC != nil {
		allowed = a.JDBC
	}
	out := url.Values{}
	for name, values := range query {
		if slices.ContainsFunc(allowed, func(n string) bool { return strings.EqualFold(n, name) }) {
			out[name] = values
		} else if a == nil || !a.DropJDBC {
			return nil, fault.Forbidden("Property [%s] of a connection URI is not among the allowed ones [%s]", name, strings.Join(allowed, ", "))
		}
	}
	return out, nil
}

// jdbcProperties are the parameters that a connection URI may have (spec/security.md, section 12):
// none of them reads files or runs code.
var jdbcProperties = []string{"useSSL", "requireSSL", "ssl", "sslmode"}

func (a *Access) clock() clock.Clock {
	if a == nil || a.Clock == nil {
		return clock.System()
	}
	return a.Clock
}

// sourceTypes are the type ids that ParseSource knows, as error messages list them.
var sourceTypes = []string{"azure", "azureStorage", "combining", "druid", "google", "hdfs", "http", "inline", "local", "s3", "service", "sql"}

// ParseSource reads the wire form of an input source.
func ParseSource(text json.RawMessage) (Source, error) {
	return parseSource(text, 0)
}

func parseSource(text json.RawMessage, depth int) (Source, error) {
	kind, err := typeOf("inputSource", text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "inline":
		return parseInline(text)
	case "local":
		return parseLocal(text)
	case "http":
		return parseHTTP(text)
	case "s3", "google", "azureStorage", "azure":
		return parseObjects(kind, text)
	case "hdfs":
		return parseHDFS(text)
	case "sql":
		return parseSQL(text)
	case "druid", "service":
		return parseDatasource(text)
	case "combining":
		return parseCombining(text, depth)
	}
	return nil, unknownType("inputSource", kind, sourceTypes)
}

// typeOf returns the member "type" of a JSON object.
func typeOf(field string, text json.RawMessage) (string, error) {
	var head struct {
		Type *string `json:"type"`
	}
	if err := jsontext.Unmarshal(text, &head); err != nil {
		return "", invalidField(field, "it is no JSON object: %s", fault.JSONProblem(err))
	}
	if head.Type == nil {
		return "", invalidField(field, "missing type id property 'type'")
	}
	return *head.Type, nil
}

func unknownType(field, kind string, known []string) error {
	hint := ""
	if near := fault.Nearest(kind, known); near != "" {
		hint = "; did you mean '" + near + "'?"
	}
	return invalidField(field, "could not resolve type id '%s': known type ids = [%s]%s", kind, strings.Join(known, ", "), hint)
}

// invalidField is the fault of a wire object that can't be used.
func invalidField(field, format string, args ...any) error {
	return fault.InvalidInput("Invalid value for the field [%s]. Reason: ["+format+"]", append([]any{field}, args...)...)
}

// decodeWire reads a wire object. Members that mean nothing here are ignored, as the reference
// does.
func decodeWire(field string, text json.RawMessage, into any) error {
	if err := jsontext.Read(text, into); err != nil {
		return invalidField(field, "%s", fault.JSONProblem(err))
	}
	return nil
}

// NeedsFormat reports whether what lies in s is bytes, whose meaning a format tells.
func NeedsFormat(s Source) bool {
	switch s := s.(type) {
	case *Datasource, *SQL:
		return false
	case *Combining:
		return slices.ContainsFunc(s.Delegates, NeedsFormat)
	}
	return true
}
