package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// webHDFS asks the name nodes of a Hadoop file system by its REST interface (WebHDFS, of Hadoop 2
// and 3). It is an rangeReader: the keys of objects are paths, without the slash at their
// beginning.
type webHDFS struct {
	bases     []string // http://host:port
	user      string
	http      *http.Client
	protocols []string
	access    *Access
}

func newWebHDFS(bases []string, user string, access *Access) *webHDFS {
	protocols := httpProtocols(access)
	return &webHDFS{bases: bases, user: user, http: httpClient(access, protocols), protocols: protocols, access: access}
}

// hdfsStatus is a FileStatus.
type hdfsStatus struct {
	Name     string `json:"pathSuffix"` // "" where the file itself was asked for
	Type     string `json:"type"`       // FILE, DIRECTORY or SYMLINK
	Length   int64  `json:"length"`
	Modified int64  `json:"modificationTime"`
	FileID   int64  `json:"fileId"`
}

// version tells contents of a path apart.
func (s *hdfsStatus) version() string { return fmt.Sprintf("%d-%d-%d", s.FileID, s.Modified, s.Length) }

// hidden reports whether patterns and directories leave the file out, as Hadoop does with what its
// jobs write beside their results.
func (s *hdfsStatus) hidden() bool {
	return strings.HasPrefix(s.Name, "_") || strings.HasPrefix(s.Name, ".")
}

// maxListingBytes bounds the answer of a name node about one directory.
const maxListingBytes = 512 << 20

// status describes a path; false: it is not there.
func (c *webHDFS) status(ctx context.Context, at string) (s *hdfsStatus, found bool, err error) {
	var w struct {
		Status *hdfsStatus `json:"FileStatus"`
	}
	if found, err = c.ask(ctx, at, "GETFILESTATUS", &w); err == nil && found && w.Status == nil {
		return nil, false, fault.Unavailable("Input [%s] could not be read: its name node returned no [FileStatus]", c.name(at))
	}
	return w.Status, found, err
}

// entries describes what is in a directory, by name; nothing if it is not there.
func (c *webHDFS) entries(ctx context.Context, at string) ([]hdfsStatus, error) {
	var w struct {
		Statuses struct {
			List []hdfsStatus `json:"FileStatus"`
		} `json:"FileStatuses"`
	}
	_, err := c.ask(ctx, at, "LISTSTATUS", &w)
	out := slices.DeleteFunc(w.Statuses.List, func(s hdfsStatus) bool { return s.Name == "" || strings.ContainsRune(s.Name, '/') })
	slices.SortFunc(out, func(a, b hdfsStatus) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// ask reads the JSON answer of an operation; false: the path is not there.
func (c *webHDFS) ask(ctx context.Context, at, op string, into any) (found bool, err error) {
	resp, found, err := c.do(ctx, at, url.Values{"op": {op}})
	if err != nil || !found {
		return false, err
	}
	defer resp.Body.Close()
	body := &io.LimitedReader{R: resp.Body, N: maxListingBytes}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		if body.N <= 0 {
			return false, fault.InvalidInput("Input [%s] has a listing of more than [%d] bytes; narrow the path", c.name(at), maxListingBytes)
		}
		return false, fault.Unavailable("Input [%s] could not be read: the answer of its name node is not the JSON of WebHDFS", c.name(at)).WithCause(err)
	}
	return true, nil
}

// do sends a request to the name nodes in turn, again after a pause when their failure may pass. It
// follows the redirect to a data node.
func (c *webHDFS) do(ctx context.Context, at string, query url.Values) (*http.Response, bool, error) {
	if c.user != "" {
		query.Set("user.name", c.user)
	}
	var escaped strings.Builder
	for name := range strings.SplitSeq(at, "/") {
		escaped.WriteString("/" + url.PathEscape(name))
	}
	for tries := 0; ; tries++ {
		var last error
		for _, base := range c.bases {
			resp, found, err, again := c.request(ctx, at, base+"/webhdfs/v1"+escaped.String()+"?"+query.Encode())
			if err == nil || !again {
				return resp, found, err
			}
			last = err
		}
		if tries >= httpAttempts-1 {
			return nil, false, last
		}
		if err := c.access.clock().Sleep(ctx, httpFirstPause<<tries); err != nil {
			return nil, false, err
		}
	}
}

// request sends one request. Again says that another name node, or the same one later, may answer.
func (c *webHDFS) request(ctx context.Context, at, target string) (resp *http.Response, found bool, err error, again bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, false, fault.InvalidInput("Input [%s] has a name node with no readable address", c.name(at)).WithCause(err), false
	}
	if !slices.Contains(c.protocols, req.URL.Scheme) {
		return nil, false, fault.InvalidInput("Only protocols [%s] are allowed; [%s] is not", strings.Join(c.protocols, ", "), secret.URL(req.URL)), false
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err = c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, ctx.Err(), false
		}
		if refused := fault.Find(err); refused != nil {
			return nil, false, refused, false
		}
		return nil, false, fault.Unavailable("Input [%s] could not be read: %s", c.name(at), transportProblem(err)).WithCause(err), true
	}
	if resp.StatusCode == http.StatusOK {
		return resp, true, nil, false
	}
	var remote struct {
		Exception struct {
			Name    string `json:"exception"`
			Message string `json:"message"`
		} `json:"RemoteException"`
	}
	text, readErr := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = errors.Join(readErr, resp.Body.Close(), json.Unmarshal(text, &remote)) // without an exception the status has to do
	said, _, _ := strings.Cut(remote.Exception.Message, "\n")
	switch name := remote.Exception.Name; {
	case name == "FileNotFoundException" || name == "" && resp.StatusCode == http.StatusNotFound:
		return nil, false, nil, false
	case name == "StandbyException" || name == "RetriableException" || name == "SafeModeException" || resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, false, fault.Unavailable("Input [%s] could not be read: its name node answered [%d %s] %.300s", c.name(at), resp.StatusCode, name, said), true
	default:
		return nil, false, fault.InvalidInput("Input [%s] could not be read: its name node answered [%d %s] %.300s", c.name(at), resp.StatusCode, name, said), false
	}
}

func (c *webHDFS) name(at string) string { return c.bases[0] + "/" + at }

// get implements rangeReader. Reads have no condition here, so that the version is asked for first.
func (c *webHDFS) get(ctx context.Context, name objectName, etag string, offset, n int64) (io.ReadCloser, error) {
	switch s, found, err := c.status(ctx, name.key); {
	case err != nil:
		return nil, err
	case !found || s.version() != etag:
		return nil, fault.Runtime("Input [%s] changed while it was read; run the ingestion again", c.name(name.key))
	}
	query := url.Values{"op": {"OPEN"}, "offset": {strconv.FormatInt(offset, 10)}}
	if n >= 0 {
		query.Set("length", strconv.FormatInt(n, 10))
	}
	resp, found, err := c.do(ctx, name.key, query)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.Runtime("Input [%s] was deleted while it was read", c.name(name.key))
	}
	return resp.Body, nil
}
