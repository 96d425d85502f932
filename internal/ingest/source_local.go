package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/glob"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Local is files on the machine that reads them: named files, or the files under a directory that
// match a pattern.
type Local struct {
	BaseDir string
	Filter  string
	Files   []string
	// SystemFields are the columns that describe the file, not its content.
	SystemFields []string
}

type localWire struct {
	Type         string   `json:"type"`
	BaseDir      string   `json:"baseDir,omitempty"`
	Filter       string   `json:"filter,omitempty"`
	Files        []string `json:"files,omitempty"`
	SystemFields []string `json:"systemFields,omitempty"`
}

func parseLocal(text json.RawMessage) (Source, error) {
	var w localWire
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	switch {
	case w.BaseDir == "" && len(w.Files) == 0:
		return nil, wire.Invalid("inputSource", "a local source needs 'baseDir' with 'filter', or 'files'")
	case w.BaseDir != "" && len(w.Files) > 0:
		return nil, wire.Invalid("inputSource", "a local source takes 'baseDir' or 'files', not both")
	case w.BaseDir != "" && w.Filter == "":
		return nil, wire.Invalid("inputSource", "a local source with 'baseDir' needs a 'filter', for example '*.json'")
	}
	if w.Filter != "" {
		if _, err := glob.Compile(w.Filter); err != nil {
			return nil, err
		}
	}
	return &Local{BaseDir: w.BaseDir, Filter: w.Filter, Files: w.Files, SystemFields: w.SystemFields}, nil
}

// Type returns "local".
func (s *Local) Type() string { return "local" }

// MarshalJSON returns the JSON form.
func (s *Local) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(localWire{Type: "local", BaseDir: s.BaseDir, Filter: s.Filter, Files: s.Files, SystemFields: s.SystemFields})
}

func (*Local) source() {}

func (s *Local) systemFields() []string { return s.SystemFields }

// List walks the directory, or checks the named files, and returns the files in the order of their
// paths. Pipes and devices are skipped: opening or reading one may block forever, and can't be
// interrupted.
func (s *Local) List(ctx context.Context, access *Access) ([]Entity, error) {
	if s.BaseDir == "" {
		return s.listFiles(access)
	}
	return s.listFolder(ctx, access)
}

func (s *Local) listFiles(access *Access) ([]Entity, error) {
	var out []Entity
	for _, name := range s.Files {
		if err := allowedLocal(access, name); err != nil {
			return nil, err
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, localFault("Input file", name, err)
		}
		if info.IsDir() {
			return nil, fault.InvalidInput("Input file [%s] is a directory; name files, or use baseDir with filter", name)
		}
		if !info.Mode().IsRegular() {
			return nil, fault.InvalidInput("Input file [%s] is not a regular file", name)
		}
		if info.Size() > 0 {
			out = append(out, newLocalEntity(access, name, info))
		}
	}
	return out, nil
}

// errNoFile says that a filter matches no file.
var errNoFile = errors.New("no file matches")

func (s *Local) listFolder(ctx context.Context, access *Access) ([]Entity, error) {
	if err := allowedLocal(access, s.BaseDir); err != nil {
		return nil, err
	}
	info, err := os.Stat(s.BaseDir)
	if err != nil {
		return nil, localFault("Input directory", s.BaseDir, err)
	}
	if !info.IsDir() {
		return nil, fault.InvalidInput("Input directory [%s] is a file; use files to name single files", s.BaseDir)
	}
	match, err := glob.Compile(s.Filter)
	if err != nil {
		return nil, err
	}
	var out []Entity
	matched := false
	err = filepath.WalkDir(s.BaseDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return localFault("Input directory", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		name := d.Name()
		if strings.Contains(s.Filter, "/") {
			if name, err = filepath.Rel(s.BaseDir, path); err != nil {
				return err
			}
		}
		if !match(filepath.ToSlash(name)) {
			return nil
		}
		matched = true
		info, err := os.Stat(path) // follows links, which WalkDir does not
		if err != nil {
			return localFault("Input file", path, err)
		}
		if !info.Mode().IsRegular() || info.Size() == 0 {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if err := allowedLocal(access, path); err != nil {
				return err
			}
		}
		if len(out) == maxSourceObjects {
			return fault.InvalidInput("Input directory [%s] has more than [%d] files that match filter [%s]", s.BaseDir, maxSourceObjects, s.Filter)
		}
		out = append(out, newLocalEntity(access, path, info))
		return nil
	})
	if err == nil && !matched {
		return nil, fault.InvalidInput("Input directory [%s] has no file that matches filter [%s]", s.BaseDir, s.Filter).WithCause(errNoFile)
	}
	return out, err
}

// AllowLocal rejects a path that local sources may not read, for callers that read local files in
// other ways.
func AllowLocal(access *Access, path string) error { return allowedLocal(access, path) }

// allowedLocal refuses paths outside the allowed folders. Links are resolved on both sides, so
// neither ".." nor a link leads out.
func allowedLocal(access *Access, path string) error {
	if access == nil || access.LocalDirs == nil {
		return nil
	}
	_, _, err := withinAllowed(access, path)
	return err
}

// withinAllowed returns the allowed folder that a path is in, and the path from there, both without
// links.
func withinAllowed(access *Access, path string) (dir, rel string, err error) {
	real, err := realPath(path)
	if err != nil {
		return "", "", localFault("Input path", path, err)
	}
	for _, allowed := range access.LocalDirs {
		base, err := realPath(allowed)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(base, real); err == nil && filepath.IsLocal(rel) && !access.private(base, real) {
			return base, rel, nil
		}
	}
	return "", "", fault.Forbidden("Input path [%s] is outside the directories that ingestion may read", path)
}

// private reports whether a path is, or lies in, what no folder above it allows to read.
func (a *Access) private(base, real string) bool {
	for _, p := range a.Private {
		p, err := realPath(p)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(p, real)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		within, err := filepath.Rel(p, base)
		if err != nil || !filepath.IsLocal(within) || within == "." {
			return true
		}
	}
	return false
}

// openLocal opens a file by a path on which nothing leads out of the allowed folders, whatever has
// changed since it was listed.
func openLocal(access *Access, path string) (*os.File, error) {
	if access == nil || access.LocalDirs == nil {
		return os.Open(path)
	}
	dir, rel, err := withinAllowed(access, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // what was opened below it stays open
	return root.Open(rel)
}

func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// localFault names the path that the operating system refused.
func localFault(what, path string, err error) error {
	switch {
	case fault.Find(err) != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.InvalidInput("%s [%s] does not exist on the server that reads it", what, path).WithCause(err)
	case errors.Is(err, fs.ErrPermission):
		return fault.InvalidInput("%s [%s] may not be read by the server: permission denied", what, path).WithCause(err)
	}
	return fault.Runtime("%s [%s] could not be read", what, path).WithCause(err)
}

type localEntity struct {
	path   string
	access *Access
	listed fs.FileInfo
	size   int64
}

func newLocalEntity(access *Access, path string, info fs.FileInfo) Entity {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return localEntity{path: path, access: access, listed: info, size: info.Size()}
}

func (e localEntity) Name() string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(e.path)}).EscapedPath()
}

func (e localEntity) Size() int64  { return e.size }
func (localEntity) Seekable() bool { return true }

func (e localEntity) SystemField(name string) (string, bool) {
	switch name {
	case "__file_uri":
		return e.Name(), true
	case "__file_path":
		return e.path, true
	}
	return "", false
}

func (e localEntity) Open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	f, err := openLocal(e.access, e.path)
	if err != nil {
		return nil, localFault("Input file", e.path, err)
	}
	if err := e.same(f); err != nil {
		_ = f.Close() // another file's
		return nil, err
	}
	if offset > 0 {
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			_ = f.Close() // the seek is the failure to report
			return nil, localFault("Input file", e.path, err)
		}
	}
	return localFile{f, e.path, ctx}, nil
}

// same refuses a file that is not the one that was listed, or has lost some of it. One that grows
// is read as far as it goes.
func (e localEntity) same(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return localFault("Input file", e.path, err)
	}
	if !os.SameFile(info, e.listed) || info.Size() < e.size {
		return fault.InvalidInput("Input file [%s] changed while it was read", e.path)
	}
	return nil
}

// localFile gives read errors the name of the file. What reads it stops when its context is done,
// also where it looks for the end of a record that is not in sight.
type localFile struct {
	*os.File
	path string
	ctx  context.Context
}

func (f localFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = localFault("Input file", f.path, err)
	}
	return n, err
}

func (e localEntity) openRandom(ctx context.Context) (randomFile, error) {
	f, err := e.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	file := f.(localFile)
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(localFault("Input file", e.path, err), f.Close())
	}
	return sizedFile{file, info.Size()}, nil
}

// sizedFile is an open file with its size when it was opened.
type sizedFile struct {
	localFile
	size int64
}

func (f sizedFile) Size() int64 { return f.size }
