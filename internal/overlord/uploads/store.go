package uploads

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

const (
	// DefaultKeep is how long an upload is kept after its last use.
	DefaultKeep = time.Hour
	// maxFiles bounds the uploads that are kept at once: each holds an open file.
	maxFiles = 1000
	// maxName bounds the name of a file, in bytes.
	maxName = 255
	// sweepEvery is how often uploads are looked at that may be too old.
	sweepEvery = time.Minute
)

// Options are the settings of a Store.
type Options struct {
	// Dir is the directory of the files.
	Dir string
	// MaxBytes is the maximum size of a file and MaxTotal of all files together, in bytes. With
	// MaxBytes 0, uploads are disabled.
	MaxBytes, MaxTotal int64
	// Keep is how long an upload is kept after its last use; 0: DefaultKeep.
	Keep time.Duration
	// Disk counts the bytes of all files; nil: they are not counted.
	Disk *budget.Budget
	// Waits reports whether a task that has not completed names an upload; nil: there are no such
	// tasks.
	Waits func(id string) bool
	Clock clock.Clock
}

// Store stores uploads. Its methods may be called from any goroutine.
type Store struct {
	o Options

	mu struct {
		sync.Mutex
		files   map[string]*file
		sending int   // files that are being sent
		used    int64 // bytes of all files, and of those that are being sent
	}
}

// Info describes an upload in responses.
type Info struct {
	ID      string
	Name    string
	Owner   string
	Size    int64
	Expires time.Time
}

// file is an upload. It is guarded by the mutex of the store.
type file struct {
	Info
	on      *os.File
	readers int
	dropped bool
}

// NewStore returns an empty store.
func NewStore(o Options) *Store {
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	s := &Store{o: o}
	s.mu.files = map[string]*file{}
	return s
}

// Limits returns the maximum size of a file and of all files together, and the current size of all
// files, in bytes.
func (s *Store) Limits() (file, total, used int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.MaxBytes, s.o.MaxTotal, s.mu.used
}

// TooLarge is the fault of a file that is larger than MaxBytes.
type TooLarge struct{ fault *fault.Error }

// Error returns the message.
func (e *TooLarge) Error() string { return e.fault.Message }

// Unwrap returns the fault.
func (e *TooLarge) Unwrap() error { return e.fault }

// Put stores the bytes of from. declared is the expected number of bytes; -1 if it is not known.
func (s *Store) Put(ctx context.Context, owner, name string, from io.Reader, declared int64) (Info, error) {
	if s.o.MaxBytes <= 0 {
		return Info{}, fault.Forbidden("This server takes no uploads: service.ingestion.uploads.maxBytes is 0")
	}
	if declared > s.o.MaxBytes {
		return Info{}, s.tooLarge()
	}
	name, err := checkName(name)
	if err != nil {
		return Info{}, err
	}
	s.sweep()
	room := &room{store: s, disk: budget.NewAccount(s.o.Disk)}
	if err := room.begin(declared); err != nil {
		return Info{}, err
	}
	kept := false
	defer func() {
		if !kept {
			room.giveBack()
		}
	}()
	on, err := os.CreateTemp(s.o.Dir, "upload-*")
	if err != nil {
		return Info{}, fmt.Errorf("creating a file for an upload: %w", err)
	}
	if err := os.Remove(on.Name()); err != nil {
		return Info{}, errors.Join(err, on.Close())
	}
	size, err := room.copy(ctx, on, from)
	if err != nil {
		return Info{}, errors.Join(err, on.Close())
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	f := &file{on: on, Info: Info{
		ID: hex.EncodeToString(id[:]), Name: name, Owner: owner, Size: size, Expires: s.o.Clock.Now().Add(s.o.Keep),
	}}
	kept = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.sending--
	s.mu.used -= room.held - size
	s.o.Disk.Release(room.held - size)
	s.mu.files[f.ID] = f
	return f.Info, nil
}

func (s *Store) tooLarge() error {
	return &TooLarge{fault.InvalidInput("The file is larger than [%d] bytes, the limit of service.ingestion.uploads.maxBytes. "+
		"Split it, or put it where the server can read it: a folder of its machine, a web server or an object store", s.o.MaxBytes)}
}

// checkName returns the last part of the path that a client gives as the name of a file.
func checkName(name string) (string, error) {
	name = filepath.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || name == "" {
		name = "upload"
	}
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fault.InvalidInput("The name of an upload has at most [%d] bytes and no control characters", maxName)
	}
	return name, nil
}

// room is what an upload on its way has reserved. It belongs to one goroutine.
type room struct {
	store *Store
	disk  budget.Account
	held  int64
}

// begin reserves what is expected.
func (r *room) begin(declared int64) error {
	s := r.store
	s.mu.Lock()
	full := len(s.mu.files)+s.mu.sending >= maxFiles
	if !full {
		s.mu.sending++
	}
	s.mu.Unlock()
	if full {
		return fault.Capacity("There are [%d] uploads already, the maximum. Load or delete some, or try again later", maxFiles)
	}
	if err := r.grow(max(0, declared)); err != nil {
		r.giveBack()
		return err
	}
	return nil
}

// grow makes what is reserved at least n bytes.
func (r *room) grow(n int64) error {
	if n <= r.held {
		return nil
	}
	s := r.store
	s.mu.Lock()
	full := s.mu.used+n-r.held > s.o.MaxTotal
	if !full {
		s.mu.used += n - r.held
		r.held = n
	}
	s.mu.Unlock()
	if full {
		return fault.Capacity("There is no room for the upload: uploads together may have [%d] bytes, "+
			"by service.ingestion.uploads.maxTotalBytes. "+
			"Each is removed when it is loaded, and an hour after its last use. Try again later", s.o.MaxTotal)
	}
	return r.disk.Set(r.held)
}

func (r *room) giveBack() {
	r.store.mu.Lock()
	r.store.mu.sending--
	r.store.mu.used -= r.held
	r.store.mu.Unlock()
	r.disk.Close()
}

const copyBytes = 256 << 10

// copy writes what from yields, as far as there is room.
func (r *room) copy(ctx context.Context, to io.Writer, from io.Reader) (size int64, err error) {
	buf := make([]byte, copyBytes)
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, readErr := from.Read(buf)
		size += int64(n)
		switch {
		case size > r.store.o.MaxBytes:
			return 0, r.store.tooLarge()
		case n > 0:
			if err := r.grow(size); err != nil {
				return 0, err
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return 0, writeFault(err)
			}
		}
		switch {
		case errors.Is(readErr, io.EOF) && size == 0:
			return 0, fault.InvalidInput("The file is empty")
		case errors.Is(readErr, io.EOF):
			return size, nil
		case fault.Find(readErr) != nil:
			return 0, readErr
		case readErr != nil:
			return 0, fault.Malformed("The upload broke off after [%d] bytes", size).WithCause(readErr)
		}
	}
}

func writeFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Capacity("The disk of the server is full; the upload was deleted").WithCause(err)
	}
	return fmt.Errorf("writing an upload: %w", err)
}

// List returns the uploads of a user, oldest first.
func (s *Store) List(owner string) []Info {
	s.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Info{}
	for _, f := range s.mu.files {
		if f.Owner == owner {
			out = append(out, f.Info)
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Or(a.Expires.Compare(b.Expires), strings.Compare(a.ID, b.ID)) })
	return out
}

// Find implements ingest.Uploads. It renews the time of the last use.
func (s *Store) Find(_ context.Context, id string) (*ingest.Uploaded, error) {
	s.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.mu.files[id]
	if f == nil {
		return nil, ingest.MissingUpload(id)
	}
	f.Expires = s.o.Clock.Now().Add(s.o.Keep)
	return &ingest.Uploaded{ID: f.ID, Name: f.Name, Owner: f.Owner, Size: f.Size, Near: true,
		Open: func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
			return s.open(ctx, id, offset, length)
		}}, nil
}

// open reads a part of an upload.
func (s *Store) open(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.mu.files[id]
	if f == nil {
		return nil, ingest.MissingUpload(id)
	}
	f.Expires = s.o.Clock.Now().Add(s.o.Keep)
	f.readers++
	return &reader{s: s, f: f, ctx: ctx, part: io.NewSectionReader(f.on, offset, length)}, nil
}

// reader reads a part of an upload, which stays until it is closed.
type reader struct {
	s      *Store
	f      *file
	ctx    context.Context
	part   *io.SectionReader
	closed bool
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.part.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fault.Runtime("Upload [%s] can't be read", r.f.Name).WithCause(err)
	}
	return n, err
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) { return r.part.Seek(offset, whence) }

// Close implements io.Closer.
func (r *reader) Close() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.f.readers--
	return r.s.freeLocked(r.f)
}

// Drop deletes an upload of a user.
func (s *Store) Drop(owner, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.mu.files[id]
	if f == nil || f.Owner != owner {
		return ingest.MissingUpload(id)
	}
	return s.dropLocked(f)
}

// Loaded deletes the uploads that a successful task names.
func (s *Store) Loaded(payload []byte) {
	s.dropIf(func(f *file) bool { return bytes.Contains(payload, []byte(f.ID)) })
}

// sweep drops what is too old.
func (s *Store) sweep() {
	now := s.o.Clock.Now()
	var old []string
	s.mu.Lock()
	for id, f := range s.mu.files {
		if f.readers == 0 && now.After(f.Expires) {
			old = append(old, id)
		}
	}
	s.mu.Unlock()
	for _, id := range old { // without the lock: the queue has its own
		waits := s.o.Waits != nil && s.o.Waits(id)
		s.mu.Lock()
		switch f := s.mu.files[id]; {
		case f == nil:
		case waits:
			f.Expires = now.Add(s.o.Keep)
		case now.After(f.Expires) && f.readers == 0:
			_ = s.dropLocked(f) // its bytes are gone with the descriptor, whatever closing says
		}
		s.mu.Unlock()
	}
}

func (s *Store) dropIf(wanted func(*file) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.mu.files {
		if wanted(f) {
			_ = s.dropLocked(f) // likewise
		}
	}
}

func (s *Store) dropLocked(f *file) error {
	delete(s.mu.files, f.ID)
	f.dropped = true
	return s.freeLocked(f)
}

// freeLocked gives the bytes of a file back that is dropped, and that nobody reads.
func (s *Store) freeLocked(f *file) error {
	if !f.dropped || f.readers > 0 || f.on == nil {
		return nil
	}
	on := f.on
	f.on = nil
	s.mu.used -= f.Size
	s.o.Disk.Release(f.Size)
	return on.Close()
}

// Run deletes expired uploads until ctx is done, and then all uploads.
func (s *Store) Run(ctx context.Context) error {
	for s.o.Clock.Sleep(ctx, sweepEvery) == nil {
		s.sweep()
	}
	s.dropIf(func(*file) bool { return true })
	return nil
}
