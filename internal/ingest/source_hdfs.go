package ingest

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/glob"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// HDFS is files of Hadoop file systems. They are read through WebHDFS, the REST interface of name
// nodes, which redirect readers to data nodes.
type HDFS struct {
	// Paths are hdfs://host:port/path, webhdfs://host:port/path, or paths of the default file system.
	// File names may be patterns. A directory means the files in it.
	Paths        []string
	SystemFields []string
}

// HDFSAccess configures access to Hadoop file systems.
type HDFSAccess struct {
	// Protocols are the allowed schemes of paths; nil: hdfs, webhdfs and swebhdfs.
	Protocols []string
	// NameNodes are the addresses of WebHDFS by the host and port of paths, as
	// "nn:8020=http://nn:9870". Several addresses of one host and port are tried in turn.
	NameNodes []string
	// DefaultFS is the file system of paths without a scheme, such as hdfs://nn:8020; "": such paths
	// are rejected.
	DefaultFS string
	// User is the user name in requests to the name node; "": the default of the name node.
	User string
}

type hdfsWire struct {
	Type         string          `json:"type"`
	Paths        wire.StringList `json:"paths"`
	SystemFields []string        `json:"systemFields,omitempty"`
}

func parseHDFS(text json.RawMessage) (Source, error) {
	var w hdfsWire
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	s := &HDFS{SystemFields: w.SystemFields}
	for _, list := range w.Paths {
		for _, p := range splitPaths(list) {
			if p = strings.TrimSpace(p); p != "" {
				s.Paths = append(s.Paths, p)
			}
		}
	}
	if len(s.Paths) == 0 {
		return nil, wire.Invalid("inputSource", "an hdfs source needs 'paths'")
	}
	return s, nil
}

// splitPaths splits at commas, but not within braces.
func splitPaths(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ',' && depth == 0
	})
}

// Type returns "hdfs".
func (s *HDFS) Type() string { return "hdfs" }

// MarshalJSON returns the JSON form, which contains no secrets.
func (s *HDFS) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(hdfsWire{"hdfs", s.Paths, s.SystemFields})
}

func (*HDFS) source() {}

func (s *HDFS) systemFields() []string { return s.SystemFields }

// hdfsLocation is a path taken apart.
type hdfsLocation struct{ scheme, authority, path string }

func (a *HDFSAccess) location(text string) (hdfsLocation, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		if a.DefaultFS == "" || !strings.HasPrefix(text, "/") {
			return hdfsLocation{}, fault.InvalidInput("Path [%s] does not begin with the address of a file system, such as hdfs://namenode:8020, and "+
				"service.ingestion.hdfs.defaultFS does not name one", text)
		}
		return a.location(strings.TrimRight(a.DefaultFS, "/") + text)
	}
	p := hdfsLocation{scheme: strings.ToLower(scheme)}
	p.authority, p.path, _ = strings.Cut(rest, "/")
	protocols := a.Protocols
	if protocols == nil {
		protocols = []string{"hdfs", "webhdfs", "swebhdfs"}
	}
	switch {
	case !slices.Contains(protocols, p.scheme):
		return p, fault.InvalidInput("Only protocols [%s] are allowed for input source [hdfs]; [%s] is not", strings.Join(protocols, ", "), text)
	case p.authority == "" && p.scheme == "hdfs" && strings.HasPrefix(strings.ToLower(a.DefaultFS), "hdfs://") && len(a.DefaultFS) > len("hdfs://"):
		return a.location(strings.TrimRight(a.DefaultFS, "/") + "/" + p.path)
	case p.authority == "":
		return p, fault.InvalidInput("Path [%s] names no name node; use [%s://namenode:port/path]", text, p.scheme)
	}
	return p, nil
}

// addresses returns where WebHDFS of a name node is.
func (a *HDFSAccess) addresses(p hdfsLocation) []string {
	var out []string
	for _, entry := range a.NameNodes {
		if authority, address, ok := strings.Cut(entry, "="); ok && strings.EqualFold(strings.TrimSpace(authority), p.authority) {
			out = append(out, strings.TrimRight(strings.TrimSpace(address), "/"))
		}
	}
	if out != nil {
		return out
	}
	switch p.scheme {
	case "webhdfs":
		return []string{"http://" + p.authority}
	case "swebhdfs":
		return []string{"https://" + p.authority}
	}
	host := p.authority
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		host = host[:at]
	}
	return []string{"http://" + host + ":9870"}
}

// List returns the files that match the paths.
func (s *HDFS) List(ctx context.Context, access *Access) ([]Entity, error) {
	var allowed HDFSAccess
	if access != nil {
		allowed = access.HDFS
	}
	clients := map[hdfsLocation]*webHDFS{}
	var out []Entity
	for _, text := range s.Paths {
		p, err := allowed.location(text)
		if err != nil {
			return nil, err
		}
		root := hdfsLocation{p.scheme, p.authority, ""}
		c := clients[root]
		if c == nil {
			c = newWebHDFS(allowed.addresses(p), allowed.User, access)
			clients[root] = c
		}
		found := &hdfsListing{client: c, location: root, out: out}
		before := len(out)
		if err := found.walk(ctx, "", strings.FieldsFunc(p.path, func(r rune) bool { return r == '/' }), 0); err != nil {
			return nil, err
		}
		if out = found.out; len(out) == before && !found.any {
			return nil, fault.InvalidInput("Input path [%s] matches no file", text)
		}
	}
	slices.SortStableFunc(out, func(a, b Entity) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(out, func(a, b Entity) bool { return a.Name() == b.Name() }), nil
}

// hdfsListing collects the files of a path.
type hdfsListing struct {
	client   *webHDFS
	location hdfsLocation
	out      []Entity
	any      bool // something matched, if only an empty file
}

// maxDirectoryDepth bounds the directories within each other that a pattern is followed through.
const maxDirectoryDepth = 100

// walk follows the names, which may be patterns, below a directory.
func (l *hdfsListing) walk(ctx context.Context, dir string, names []string, depth int) error {
	if depth > maxDirectoryDepth {
		return fault.InvalidInput("Input path [%s] has more than [%d] directories within each other", l.location.name(dir), maxDirectoryDepth)
	}
	for len(names) > 0 && !strings.ContainsAny(names[0], `*?[{\`) {
		dir, names = path.Join(dir, names[0]), names[1:]
	}
	if len(names) == 0 {
		status, found, err := l.client.status(ctx, dir)
		switch {
		case err != nil || !found:
			return err
		case status.Type == "DIRECTORY":
			l.any = true
			return l.files(ctx, dir)
		}
		return l.add(dir, status)
	}
	entries, err := l.client.entries(ctx, dir)
	if err != nil {
		return err
	}
	if names[0] == "**" {
		if len(names) > 1 {
			err = l.walk(ctx, dir, names[1:], depth+1)
		}
		for i := 0; err == nil && i < len(entries); i++ {
			switch e := &entries[i]; {
			case e.hidden():
			case e.Type == "DIRECTORY":
				err = l.walk(ctx, path.Join(dir, e.Name), names, depth+1)
			case len(names) == 1:
				err = l.add(path.Join(dir, e.Name), e)
			}
		}
		return err
	}
	matches, err := glob.Compile(names[0])
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		if e.hidden() || !matches(e.Name) {
			continue
		}
		at := path.Join(dir, e.Name)
		switch {
		case len(names) == 1 && e.Type == "DIRECTORY":
			l.any = true
			err = l.files(ctx, at)
		case len(names) == 1:
			err = l.add(at, e)
		case e.Type == "DIRECTORY":
			err = l.walk(ctx, at, names[1:], depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// files adds the files of a directory, not those of directories in it.
func (l *hdfsListing) files(ctx context.Context, dir string) error {
	entries, err := l.client.entries(ctx, dir)
	if err != nil {
		return err
	}
	for i := range entries {
		if e := &entries[i]; e.Type != "DIRECTORY" && !e.hidden() {
			if err := l.add(path.Join(dir, e.Name), e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *hdfsListing) add(at string, s *hdfsStatus) error {
	if l.any = true; s.Length == 0 {
		return nil
	}
	if len(l.out) >= maxSourceObjects {
		return fault.InvalidInput("Input source [hdfs] has more than [%d] files; narrow its paths", maxSourceObjects)
	}
	o := &object{kind: &storeKind{scheme: l.location.scheme}, store: l.client, name: objectName{bucket: l.location.authority, key: at},
		size: s.Length, etag: s.version()}
	l.out = append(l.out, hdfsFile{o})
	return nil
}

func (p hdfsLocation) name(at string) string { return p.scheme + "://" + p.authority + "/" + at }

// hdfsFile is a version of a file: all reads of it are of the version that was listed.
type hdfsFile struct{ *object }

// SystemField implements Entity.
func (f hdfsFile) SystemField(name string) (string, bool) {
	switch name {
	case "__file_uri":
		return f.Name(), true
	case "__file_path":
		return "/" + f.name.key, true
	}
	return "", false
}
