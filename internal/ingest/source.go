package ingest

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/secret"
)

// Source is the location of input. The concrete sources are Inline, Local, HTTP, Objects, HDFS,
// SQL, Datasource, Upload and Combining; there are no other implementations.
//
// A Source is immutable, validated when it is parsed and safe for use by many goroutines.
type Source interface {
	// Type returns the type id of the wire form.
	Type() string
	// List returns the entities to read, in an order that is the same in every call. Empty files are
	// omitted.
	List(ctx context.Context, access *Access) ([]Entity, error)
	// MarshalJSON returns the wire form with secrets replaced.
	json.Marshaler
	source()
}

// Entity is one file, object or inline text. It is safe for use by many goroutines.
type Entity interface {
	// Name returns the name for errors and reports: a URI, or "" for inline text.
	Name() string
	// Size returns the stored size in bytes, or -1 if it is unknown.
	Size() int64
	// Seekable reports whether Open accepts an offset.
	Seekable() bool
	// Open starts reading at offset, which is 0 unless the entity is seekable. The caller closes the
	// reader. Errors of the environment are faults that name the entity.
	Open(ctx context.Context, offset int64) (io.ReadCloser, error)
	// SystemField returns the value of a system field (__file_uri, __file_path, __file_bucket) and
	// whether the entity has it.
	SystemField(name string) (string, bool)
}

// Access defines what sources may read. The zero value allows everything and uses the system clock.
type Access struct {
	// LocalDirs are the directories that local sources may read, after symbolic links are resolved;
	// nil: any.
	LocalDirs []string
	// Private are directories or files inside LocalDirs that local sources may not read: the data
	// directory of the process and keys.
	Private []string
	// CheckAddress, if set, is called before every connection, including redirects, and may return a
	// fault to reject it. CheckWeb, if set, is called instead for sources that specify a URL or an
	// endpoint.
	CheckAddress, CheckWeb func(netip.AddrPort) error
	// HTTPHosts are the allowed hosts of HTTP input; .example.com allows all subdomains; nil: any.
	HTTPHosts []string
	// JDBC are the allowed parameters of database URIs; nil: all known parameters. DropJDBC removes
	// other parameters instead of rejecting them.
	JDBC     []string
	DropJDBC bool
	// HTTPProtocols are the allowed schemes; nil: http and https.
	HTTPProtocols []string
	// HTTPHeaders are the allowed names of request headers; nil: any.
	HTTPHeaders []string
	// HDFS configures access to Hadoop file systems.
	HDFS HDFSAccess
	// Getenv resolves passwords of type "environment"; nil: such passwords are rejected.
	Getenv func(name string) (string, bool)
	// OpenDatasource reads the rows of a datasource of this system; nil: sources of that type are
	// rejected.
	OpenDatasource func(context.Context, *Datasource) (ObjectReader, error)
	// Uploads are the files that clients have uploaded; nil: sources of that type are rejected.
	Uploads Uploads
	// S3 is the object store for sources that specify neither a store nor keys. The zero value is the
	// public store with the credentials of the machine.
	S3 s3.Options
	// Roots are the certificate authorities for input servers; nil: the system's.
	Roots *x509.CertPool
	// Expansion is the maximum ratio of decompressed to compressed size; 0: 500. The first 256 MiB are
	// read in any case.
	Expansion int64
	// Clock times retries.
	Clock clock.Clock
}

// expansion returns how many times its size input may unpack to.
func (a *Access) expansion() int64 {
	if a == nil || a.Expansion <= 0 {
		return bombRatio
	}
	return a.Expansion
}

// roots returns the authorities of servers; nil: those of the machine.
func (a *Access) roots() *x509.CertPool {
	if a == nil {
		return nil
	}
	return a.Roots
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

// JDBCProperties returns the allowed parameters of a database URI. Names are case-insensitive.
// Other parameters are rejected, or removed if DropJDBC is set.
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

// jdbcProperties are the parameters that a connection URI may have (docs/security.md): none of them
// reads files or runs code.
var jdbcProperties = []string{"useSSL", "requireSSL", "ssl", "sslmode"}

func (a *Access) clock() clock.Clock {
	if a == nil || a.Clock == nil {
		return clock.System()
	}
	return a.Clock
}

// sourceTypes are the type ids that ParseSource knows, as error messages list them.
var sourceTypes = []string{
	"azure", "azureStorage", "combining", "druid", "google", "hdfs", "http", "inline", "local", "s3", "service", "sql", "upload",
}

// ParseSource parses the JSON form of an input source.
func ParseSource(text json.RawMessage) (Source, error) {
	return parseSource(text, 0)
}

func parseSource(text json.RawMessage, depth int) (Source, error) {
	kind, err := wire.TypeOf("inputSource", text)
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
	case "upload":
		return parseUpload(text)
	case "druid", "service":
		return parseDatasource(text)
	case "combining":
		return parseCombining(text, depth)
	}
	return nil, wire.UnknownType("inputSource", kind, sourceTypes)
}

// NeedsFormat reports whether the content of s is bytes that a format decodes.
func NeedsFormat(s Source) bool {
	switch s := s.(type) {
	case *Datasource, *SQL:
		return false
	case *Combining:
		return slices.ContainsFunc(s.Delegates, NeedsFormat)
	}
	return true
}

// password is a secret given as text or by a provider.
type password struct{ secret.Password }

// resolve returns the secret.
func (p password) resolve(access *Access) (secret.Text, error) {
	return p.Resolve(access.Environment())
}

// Environment returns the lookup of environment variables; nil: they are not resolved.
func (a *Access) Environment() secret.Environment {
	if a == nil {
		return nil
	}
	return a.Getenv
}
