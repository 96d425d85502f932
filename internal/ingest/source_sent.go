package ingest

import (
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Inline is text in the statement.
type Inline struct {
	Data string
}

type inlineWire struct {
	Type string  `json:"type"`
	Data *string `json:"data"`
}

func parseInline(text json.RawMessage) (Source, error) {
	var w inlineWire
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	if w.Data == nil || *w.Data == "" {
		return nil, wire.Invalid("inputSource", "an inline source needs a non-empty 'data'")
	}
	return &Inline{Data: *w.Data}, nil
}

// Type returns "inline".
func (s *Inline) Type() string { return "inline" }

// MarshalJSON returns the JSON form.
func (s *Inline) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(inlineWire{Type: "inline", Data: &s.Data})
}

// List returns the text as one entity.
func (s *Inline) List(context.Context, *Access) ([]Entity, error) {
	return []Entity{inlineEntity{s.Data}}, nil
}

func (*Inline) source() {}

type inlineEntity struct{ data string }

func (e inlineEntity) Name() string                      { return "" }
func (e inlineEntity) Size() int64                       { return int64(len(e.data)) }
func (e inlineEntity) Seekable() bool                    { return true }
func (e inlineEntity) SystemField(string) (string, bool) { return "", false }

func (e inlineEntity) Open(_ context.Context, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(e.data[min(offset, int64(len(e.data))):])), nil
}

func (e inlineEntity) openRandom(context.Context) (randomFile, error) {
	return stringFile{strings.NewReader(e.data)}, nil
}

// stringFile is a randomFile of text.
type stringFile struct{ *strings.Reader }

func (stringFile) Close() error { return nil }

// Upload is files that clients have uploaded to the server.
type Upload struct {
	IDs []string
	// SystemFields are the columns that describe the file, not its content.
	SystemFields []string
}

// Uploads finds the files that clients have uploaded. It is safe for use by many goroutines.
type Uploads interface {
	// Find returns an upload. An upload that does not exist, or no longer exists, is a fault.
	Find(ctx context.Context, id string) (*Uploaded, error)
}

// Uploaded is one file that a client has uploaded.
type Uploaded struct {
	ID, Name string
	// Owner is the user who uploaded the file. Only statements of this user may read it.
	Owner string
	Size  int64
	// Near reports whether the file is on this machine, so that reading it twice is cheap.
	Near bool
	// Open reads length bytes from offset on, or fewer at the end of the file.
	Open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
}

type uploadWire struct {
	Type         string          `json:"type"`
	IDs          wire.StringList `json:"ids"`
	SystemFields []string        `json:"systemFields,omitempty"`
}

// maxUploads bounds how many files one source of uploads names.
const maxUploads = 1000

// uploadID is what ids of uploads look like.
var uploadID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func parseUpload(text json.RawMessage) (Source, error) {
	var w uploadWire
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	if len(w.IDs) == 0 || len(w.IDs) > maxUploads {
		return nil, wire.Invalid("inputSource", "an upload source needs 'ids', at most %d", maxUploads)
	}
	for _, id := range w.IDs {
		if !uploadID.MatchString(id) {
			return nil, wire.Invalid("inputSource", "'%s' is not the id of an upload", id)
		}
	}
	return &Upload{IDs: w.IDs, SystemFields: w.SystemFields}, nil
}

// Type returns "upload".
func (s *Upload) Type() string { return "upload" }

// MarshalJSON returns the JSON form.
func (s *Upload) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(uploadWire{Type: "upload", IDs: s.IDs, SystemFields: s.SystemFields})
}

func (*Upload) source() {}

func (s *Upload) systemFields() []string { return s.SystemFields }

// List finds the files.
func (s *Upload) List(ctx context.Context, access *Access) ([]Entity, error) {
	if access == nil || access.Uploads == nil {
		return nil, fault.Unsupported("Input source [%s] can't be read here", s.Type())
	}
	out := make([]Entity, 0, len(s.IDs))
	for _, id := range s.IDs {
		u, err := access.Uploads.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		if u.Size > 0 {
			out = append(out, &uploadEntity{u})
		}
	}
	return out, nil
}

// MissingUpload returns the fault for an upload that a user can't read. It does not reveal whether
// the upload belongs to another user.
func MissingUpload(id string) error {
	return fault.NotFound("Upload [%s] does not exist. An upload ends an hour after its last use, when a task has loaded it, and when "+
		"the server restarts; only the user who sent it can read it. Upload the file again", id)
}

// PermitUploads rejects a source that names uploads of other users.
func PermitUploads(ctx context.Context, uploads Uploads, s Source, user string) error {
	switch x := s.(type) {
	case *Combining:
		for _, d := range x.Delegates {
			if err := PermitUploads(ctx, uploads, d, user); err != nil {
				return err
			}
		}
	case *Upload:
		for _, id := range x.IDs {
			if uploads == nil {
				return MissingUpload(id)
			}
			u, err := uploads.Find(ctx, id)
			if err != nil {
				return err
			}
			if u.Owner != user {
				return MissingUpload(id)
			}
		}
	}
	return nil
}

type uploadEntity struct{ of *Uploaded }

func (e *uploadEntity) Name() string   { return e.of.Name }
func (e *uploadEntity) Size() int64    { return e.of.Size }
func (e *uploadEntity) Seekable() bool { return true }

func (e *uploadEntity) SystemField(name string) (string, bool) {
	switch name {
	case "__file_uri", "__file_path":
		return e.of.Name, true
	}
	return "", false
}

// Open reads from offset to the end.
func (e *uploadEntity) Open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	return e.of.Open(ctx, offset, e.of.Size-offset)
}

func (e *uploadEntity) openRandom(ctx context.Context) (randomFile, error) {
	return &uploadFile{e.of, ctx}, nil
}

// uploadFile reads an upload at any place.
type uploadFile struct {
	of  *Uploaded
	ctx context.Context
}

func (f *uploadFile) Size() int64  { return f.of.Size }
func (f *uploadFile) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (f *uploadFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.of.Size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), f.of.Size-off)
	body, err := f.of.Open(f.ctx, off, want)
	if err != nil {
		return 0, err
	}
	defer body.Close() // it was only read
	n, err := io.ReadFull(body, p[:want])
	if err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return n, err
}
