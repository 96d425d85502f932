package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hengedb/henge/internal/fault"
)

// below returns the path of a local export below the base directory.
func (p *Destinations) below(path string) (string, error) {
	const setting = "service.export.storage.baseDir"
	if p.BaseDir == "" {
		return "", fault.NotFound("The runtime property `%s` must be configured for local export.", setting)
	}
	if !filepath.IsAbs(p.BaseDir) {
		return "", fault.InvalidInput("The runtime property `%s` must be an absolute path.", setting)
	}
	within, err := filepath.Rel(p.BaseDir, filepath.Clean(path))
	if err != nil || !filepath.IsLocal(within) {
		return "", fault.InvalidInput("The provided destination must be within the path configured by runtime property `%s`. Please reach out to the cluster "+
			"admin for the allowed path.", setting)
	}
	return within, nil
}

// local is a folder below the base directory. Links that lead out of that are not followed.
type local struct {
	path string
	root *os.Root // the folder
}

func (p *Destinations) openLocal(path string) (*local, error) {
	within, err := p.below(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.BaseDir, 0o755); err != nil {
		return nil, diskFault(p.BaseDir, err)
	}
	base, err := os.OpenRoot(p.BaseDir)
	if err != nil {
		return nil, diskFault(p.BaseDir, err)
	}
	defer base.Close() // what is opened below stays open
	if err := base.MkdirAll(within, 0o755); err != nil {
		return nil, diskFault(path, err)
	}
	root, err := base.OpenRoot(within)
	if err != nil {
		return nil, diskFault(path, err)
	}
	return &local{path: filepath.Clean(path), root: root}, nil
}

// diskFault says what the operating system refused.
func diskFault(path string, err error) error {
	at, ok := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Runtime("Disk is full: export file [%s] can't be written", path).WithCause(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), ok && at.Op != "" && at.Err != nil:
		return fault.InvalidInput("Export destination [%s] can't be used: %v", path, cause(err)).WithCause(err)
	}
	return fmt.Errorf("export destination [%s]: %w", path, err)
}

// cause is what the operating system says, without the path that it says it of.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// URI implements Destination.
func (l *local) URI(name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(l.path, name)), OmitHost: true}).String()
}

// Names implements Destination.
func (l *local) Names(ctx context.Context, limit int) ([]string, error) {
	var out []string
	err := fs.WalkDir(l.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if out = append(out, name); len(out) >= limit {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return nil, diskFault(l.path, err)
	}
	return out, nil
}

// Put implements Destination.
func (l *local) Put(_ context.Context, name string, r io.ReadSeeker, _ int64) (err error) {
	path := filepath.Join(l.path, name)
	if err := l.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return diskFault(path, err)
	}
	f, err := l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return diskFault(path, err)
	}
	if _, err = io.Copy(f, r); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return diskFault(path, err)
	}
	return l.sync(filepath.Dir(name))
}

// sync makes the names in a folder durable.
func (l *local) sync(dir string) error {
	d, err := l.root.Open(dir)
	if err != nil {
		return diskFault(l.path, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return diskFault(l.path, err)
	}
	return nil
}

// Delete implements Destination. Folders that are empty then go too.
func (l *local) Delete(_ context.Context, names ...string) error {
	for _, name := range names {
		if err := l.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diskFault(filepath.Join(l.path, name), err)
		}
		if dir := filepath.Dir(name); dir != "." {
			_ = l.root.Remove(dir) // one that is not empty stays
		}
	}
	return nil
}

// Close implements Destination.
func (l *local) Close() error { return l.root.Close() }
