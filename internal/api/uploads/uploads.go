// Package uploads serves the endpoints for uploaded files: clients upload, list and delete files,
// and other processes read them. Package overlord/uploads stores the files.
package uploads

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/overlord/uploads"
)

// Path is the path to which clients send files.
const Path = "/service/indexer/v1/uploads"

// sourceType is the type of input sources of uploads.
const sourceType = "upload"

// API serves the endpoints.
type API struct{ store *uploads.Store }

// New returns the endpoints of a store.
func New(store *uploads.Store) *API { return &API{store} }

// Routes adds the routes for clients.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("POST "+Path, a.put)
	mux.On("GET "+Path, a.list)
	mux.On("DELETE "+Path+"/{id}", a.drop)
}

// LeaderRoutes adds the routes for other processes.
func (a *API) LeaderRoutes(mux *edge.Mux) {
	mux.On("GET "+uploads.Path+"/{id}", a.describe)
	mux.On("GET "+uploads.Path+"/{id}/content", a.content)
}

// answer is an upload as clients see it.
type answer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Expires string `json:"expires"`
	Source  source `json:"inputSource"`
}

type source struct {
	Type string   `json:"type"`
	IDs  []string `json:"ids"`
}

func shown(i uploads.Info) answer {
	return answer{ID: i.ID, Name: i.Name, Size: i.Size, Expires: chrono.FormatMillis(i.Expires.UnixMilli(), chrono.UTC),
		Source: source{sourceType, []string{i.ID}}}
}

// permit refuses users who may not read external data.
func permit(ctx context.Context) (*auth.Access, error) {
	access := auth.Of(ctx)
	name := string(auth.External)
	if access.Options().InputSources {
		name = sourceType
	}
	return access, access.Check(ctx, auth.Reads(auth.External, name))
}

// put takes the file that is the body of a request.
func (a *API) put(w http.ResponseWriter, r *http.Request) error {
	access, err := permit(r.Context())
	if err != nil {
		return err
	}
	if err := edge.OnlyParameters(r, "name"); err != nil {
		return err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return edge.UnsupportedMedia("The body of the request is the file itself; multipart/form-data is not read")
	}
	info, err := a.store.Put(r.Context(), access.Name(), r.URL.Query().Get("name"), r.Body, r.ContentLength)
	if large, ok := errors.AsType[*uploads.TooLarge](err); ok {
		return edge.TooLarge("%s", large.Error())
	}
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, shown(info))
	return nil
}

// list answers with the uploads of the user, and what is allowed.
func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	out := struct {
		Uploads  []answer `json:"uploads"`
		MaxBytes int64    `json:"maxBytes"`
		MaxTotal int64    `json:"maxTotalBytes"`
		Used     int64    `json:"usedBytes"`
	}{Uploads: []answer{}}
	access := auth.Of(r.Context())
	access.Pass()
	for _, i := range a.store.List(access.Name()) {
		out.Uploads = append(out.Uploads, shown(i))
	}
	out.MaxBytes, out.MaxTotal, out.Used = a.store.Limits()
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// drop deletes an upload of the user.
func (a *API) drop(w http.ResponseWriter, r *http.Request) error {
	access := auth.Of(r.Context())
	access.Pass()
	if err := a.store.Drop(access.Name(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// describe tells another process of an upload.
func (a *API) describe(w http.ResponseWriter, r *http.Request) error {
	u, err := a.store.Find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, uploads.Described{Name: u.Name, Owner: u.Owner, Size: u.Size})
	return nil
}

// content gives another process a part of an upload.
func (a *API) content(w http.ResponseWriter, r *http.Request) error {
	u, err := a.store.Find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := u.Open(r.Context(), 0, u.Size)
	if err != nil {
		return err
	}
	defer body.Close() // it was only read
	seeker, ok := body.(io.ReadSeeker)
	if !ok {
		return fault.Defensive("An upload can't be read at any place")
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, seeker)
	return nil
}

var _ ingest.Uploads = (*uploads.Store)(nil)
