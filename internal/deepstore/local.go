package deepstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// Local keeps objects as files below a directory, which several processes may share: a data
// directory, a network file system.
//
// An object is written to a temporary file in uploads, synced, and then linked to its name, so that
// it is either absent or complete, and the first of two Puts wins. Symbolic links out of the
// directory are not followed.
type Local struct {
	dir   string // absolute
	root  *os.Root
	owner string // ends the names of uploads
}

// uploads is the directory of objects that are being put. What a crash leaves there is removed by
// Sweep.
const uploads = reservedPrefix + "uploads"

// putAttempts bounds how often Put makes a directory that a Delete removes at the same moment.
const putAttempts = 100

// OpenLocal returns the store in dir, and creates the directory if necessary.
func OpenLocal(dir string) (*Local, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("deep storage directory [%s]: %w", dir, err)
	}
	if err := durable.MkdirAll(filepath.Join(abs, uploads), 0o700); err != nil {
		return nil, diskFault(abs, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, diskFault(abs, err)
	}
	return &Local{dir: abs, root: root, owner: strconv.Itoa(os.Getpid())}, nil
}

// diskFault names the path, and says so when the disk is full.
func diskFault(path string, err error) error {
	switch {
	case durable.IsFull(err):
		return fault.Runtime("Disk is full: deep storage file [%s] can't be written", path).WithCause(err)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return fault.Runtime("Deep storage file [%s] can't be written: permission is denied or the disk is read-only", path).WithCause(err)
	}
	return fmt.Errorf("deep storage file [%s]: %w", path, err)
}

// Path returns the path of the file of the object with this key.
func (l *Local) Path(key string) (string, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	return filepath.Join(l.dir, filepath.FromSlash(key)), nil
}

// Put stores the bytes of r under key.
func (l *Local) Put(ctx context.Context, key string, r io.Reader) (err error) {
	path, err := l.Path(key)
	if err != nil {
		return err
	}
	if _, err := l.root.Lstat(key); err == nil { // spares the copy; the link decides
		return taken(key)
	}
	temp := l.uploadName()
	file, err := l.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return diskFault(path, err)
	}
	defer l.root.Remove(temp) // linked or not, this name has served
	defer file.Close()        // a second time after success; then it does nothing
	source := &reader{ctx: ctx, r: r}
	if _, err := io.Copy(file, source); err != nil {
		if source.err != nil {
			return fmt.Errorf("reading what goes to deep storage as [%s]: %w", key, source.err)
		}
		return diskFault(path, err)
	}
	if err := durable.File(file); err != nil {
		return diskFault(path, err)
	}
	if err := file.Close(); err != nil {
		return diskFault(path, err)
	}
	return l.name(temp, key, path)
}

// Adopt stores file by a hard link, or like Put if a link is not possible.
func (l *Local) Adopt(ctx context.Context, key string, file *os.File) error {
	path, err := l.Path(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	temp := l.uploadName()
	if err := os.Link(file.Name(), filepath.Join(l.dir, temp)); err != nil { // such as another file system, or one without links
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return l.Put(ctx, key, file)
	}
	defer l.root.Remove(temp)
	if err := errors.Join(file.Chmod(0o600), durable.File(file)); err != nil {
		return diskFault(path, err)
	}
	return l.name(temp, key, path)
}

// uploadName is a name in uploads that nobody else has.
func (l *Local) uploadName() string {
	return uploads + "/" + strconv.FormatUint(rand.Uint64(), 36) + "-" + l.owner
}

// name gives the file temp, which is on disk, the name of key, whose path is path.
func (l *Local) name(temp, key, path string) (err error) {
	for range putAttempts {
		if err = l.makeParent(key); errors.Is(err, fs.ErrNotExist) {
			continue // a Delete has removed one of them
		}
		if err != nil {
			return diskFault(path, err)
		}
		if err = l.root.Link(temp, key); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return taken(key)
	case err != nil:
		return diskFault(path, err)
	}
	return l.sync(parentOf(key))
}

// reader stops when ctx is done, and tells errors of reading from errors of writing.
type reader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (r *reader) Read(b []byte) (int, error) {
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func parentOf(key string) string {
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		return key[:i]
	}
	return "."
}

// makeParent makes the directories above key, each of them on disk before the next.
func (l *Local) makeParent(key string) error {
	parent := parentOf(key)
	if parent == "." {
		return nil
	}
	if _, err := l.root.Stat(parent); err == nil {
		return nil
	}
	if err := l.makeParent(parent); err != nil {
		return err
	}
	if err := l.root.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.sync(parentOf(parent))
}

// sync writes the names in a directory to disk.
func (l *Local) sync(dir string) error {
	d, err := l.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a Delete has removed it again
	}
	if err != nil {
		return diskFault(filepath.Join(l.dir, dir), err)
	}
	defer d.Close()
	if err := durable.OpenFolder(d, filepath.Join(l.dir, dir)); err != nil {
		return diskFault(filepath.Join(l.dir, dir), err)
	}
	return nil
}

// Open returns the object for reading.
func (l *Local) Open(ctx context.Context, key string) (Object, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := l.root.Open(key)
	if err != nil {
		return nil, l.readFault(key, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		file.Close() // only the first error tells something
		return nil, l.readFault(key, err)
	}
	return &localObject{ctx: ctx, file: file, size: info.Size()}, nil
}

func (l *Local) readFault(key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return notFound(key, fs.ErrNotExist)
	}
	return fmt.Errorf("deep storage file [%s]: %w", filepath.Join(l.dir, key), err)
}

type localObject struct {
	ctx  context.Context
	file *os.File
	size int64
}

func (o *localObject) ReadAt(b []byte, off int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.file.ReadAt(b, off)
}

func (o *localObject) Close() error { return o.file.Close() }
func (o *localObject) Size() int64  { return o.size }

// Stat describes the object.
func (l *Local) Stat(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	info, err := l.root.Stat(key)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Info{}, l.readFault(key, err)
	}
	return Info{Key: key, Size: info.Size(), Modified: info.ModTime().UnixMilli()}, nil
}

// List returns a page of objects.
func (l *Local) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	w := walk{ctx: ctx, root: l.root, prefix: prefix, after: after, limit: limit}
	if err := w.dir("."); err != nil {
		return nil, fmt.Errorf("listing deep storage [%s]: %w", l.dir, err)
	}
	return w.found, nil
}

// walk visits the files of a tree in the order of their keys.
type walk struct {
	ctx           context.Context
	root          *os.Root
	prefix, after string
	limit         int
	found         []Info
}

func (w *walk) dir(dir string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	d, err := w.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	entries, err := d.ReadDir(-1)
	d.Close() // it was only read
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since it was opened
	}
	if err != nil {
		return err
	}
	base := ""
	if dir != "." {
		base = dir + "/"
	}
	// A directory sorts as its name with the slash that follows it in every key.
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), reservedPrefix):
		case e.IsDir():
			names = append(names, base+e.Name()+"/")
		case e.Type().IsRegular():
			names = append(names, base+e.Name())
		}
	}
	sort.Strings(names)
	for _, n := range names {
		if len(w.found) >= w.limit {
			return nil
		}
		if sub, ok := strings.CutSuffix(n, "/"); ok {
			if w.mayHold(n) {
				if err := w.dir(sub); err != nil {
					return err
				}
			}
			continue
		}
		if !strings.HasPrefix(n, w.prefix) || n <= w.after {
			continue
		}
		info, err := w.root.Stat(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		w.found = append(w.found, Info{Key: n, Size: info.Size(), Modified: info.ModTime().UnixMilli()})
	}
	return nil
}

// mayHold reports whether keys that begin with dir (which ends in a slash) can be on the page.
func (w *walk) mayHold(dir string) bool {
	if !strings.HasPrefix(dir, w.prefix) && !strings.HasPrefix(w.prefix, dir) {
		return false
	}
	return dir > w.after || strings.HasPrefix(w.after, dir)
}

// Delete deletes the objects, and directories that become empty.
func (l *Local) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		if info, err := l.root.Lstat(key); err == nil && info.IsDir() {
			continue // the name of objects, and of none
		}
		if err := l.root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return diskFault(filepath.Join(l.dir, key), err)
		}
		for dir := parentOf(key); dir != "."; dir = parentOf(dir) {
			// The root has no way to remove a directory and nothing but a directory; it only shows that dir
			// is inside.
			if _, err := l.root.Lstat(dir); err != nil || syscall.Rmdir(filepath.Join(l.dir, dir)) != nil {
				break // not empty, as a rule
			}
		}
	}
	return nil
}

// Close closes the store.
func (l *Local) Close() error { return l.root.Close() }

// localSpec is the load spec of Druid for local files.
type localSpec struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

// LoadSpec returns {"type":"local","path":...} with the absolute path.
func (l *Local) LoadSpec(key string) json.RawMessage {
	// Texts always marshal.
	raw, _ := json.Marshal(localSpec{Type: "local", Path: filepath.Join(l.dir, filepath.FromSlash(key))})
	return raw
}

// Key returns the key of a local load spec whose path is in the directory.
func (l *Local) Key(loadSpec json.RawMessage) (string, error) {
	var spec localSpec
	if err := json.Unmarshal(loadSpec, &spec); err != nil {
		return "", fault.InvalidInput("Load spec is not a JSON object with texts as type and path").WithCause(err)
	}
	if spec.Type != "local" {
		return "", fault.Unsupported("Load spec of type [%s] does not fit the deep storage of this node, which is of type [local]", spec.Type)
	}
	rel, err := filepath.Rel(l.dir, spec.Path)
	if err != nil || !filepath.IsAbs(spec.Path) || !filepath.IsLocal(rel) || rel == "." {
		return "", fault.InvalidInput("Load spec has the path [%s], which is not inside the deep storage directory [%s]", spec.Path, l.dir)
	}
	key := filepath.ToSlash(rel)
	return key, CheckKey(key)
}

var (
	_ Store  = (*Local)(nil)
	_ OnDisk = (*Local)(nil)
)
