package push

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// Store contains the logs of a worker, one per datasource. All methods are safe for use by many
// goroutines.
type Store struct {
	o Options
	// id names this disk among those of all workers.
	id string

	mu     sync.Mutex
	logs   map[string]*Log
	closed bool
}

// idFile holds the id of a store. It goes with the logs: a disk that lost them is another one.
const idFile = "store.id"

// OpenStore opens the logs below a folder. Options apply to each log, except its folder and its
// share of MaxBytes, which the store sets.
func OpenStore(o Options) (*Store, error) {
	if err := durable.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making folder [%s]: %w", o.Dir, err)
	}
	s := &Store{o: o, logs: map[string]*Log{}}
	path := filepath.Join(o.Dir, idFile)
	text, err := os.ReadFile(path)
	switch {
	case err == nil && len(text) > 0:
		s.id = string(text)
	case err == nil || errors.Is(err, os.ErrNotExist):
		id := make([]byte, 8)
		_, _ = rand.Read(id) // it does not fail
		s.id = hex.EncodeToString(id)
		if err := durable.WriteFile(path, []byte(s.id), 0o600); err != nil {
			return nil, fmt.Errorf("writing [%s]: %w", path, err)
		}
	default:
		return nil, fmt.Errorf("reading [%s]: %w", path, err)
	}
	list, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("reading folder [%s]: %w", o.Dir, err)
	}
	for _, entry := range list {
		name, err := url.PathUnescape(entry.Name())
		if !entry.IsDir() || err != nil {
			continue
		}
		if _, err := s.open(name); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Partition is the partition of the logs of this store.
func (s *Store) Partition() stream.Partition { return stream.Partition(s.id) }

// Log returns the log of a datasource, and creates it if necessary.
func (s *Store) Log(dataSource string) (*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[dataSource]; l != nil {
		return l, nil
	}
	if s.closed {
		return nil, fault.Unavailable("This worker is stopping; send the rows again when it is back")
	}
	return s.openLocked(dataSource)
}

func (s *Store) open(dataSource string) (*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openLocked(dataSource)
}

func (s *Store) openLocked(dataSource string, with ...func(*Options)) (*Log, error) {
	o := s.o
	for _, set := range with {
		set(&o)
	}
	name, err := directory(dataSource)
	if err != nil {
		return nil, err
	}
	o.Dir = filepath.Join(s.o.Dir, name)
	l, err := Open(o)
	if err != nil {
		return nil, err
	}
	s.logs[dataSource] = l
	return l, nil
}

// maxNameBytes is what file systems take.
const maxNameBytes = 255

// CheckName rejects the name of a log that cannot be the name of a directory.
func CheckName(name string) error {
	_, err := directory(name)
	return err
}

// directory is the name of the directory of a datasource, which url.PathUnescape reads back. Names
// have a slash only where a log of several begins with its datasource, and don't begin with a
// point. Where escaping makes one too long, which it does to long names of other than Latin
// letters, only the slash and the character that escapes are escaped.
func directory(dataSource string) (string, error) {
	name := strings.ReplaceAll(url.PathEscape(dataSource), ".", "%2E")
	if len(name) > maxNameBytes {
		name = strings.NewReplacer("%", "%25", "/", "%2F").Replace(dataSource)
	}
	if len(name) > maxNameBytes {
		return "", fault.InvalidInput("Datasource [%s] has too long a name for rows that are sent", dataSource)
	}
	return name, nil
}

// Find returns the log of a datasource; nil: this worker does not have one.
func (s *Store) Find(dataSource string) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[dataSource]
}

// DataSources returns the datasources with a log.
func (s *Store) DataSources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.logs))
	for name := range s.logs {
		out = append(out, name)
	}
	return out
}

// Source returns the log of a datasource as a stream.
func (s *Store) Source(dataSource string) (*Source, error) {
	l, err := s.Log(dataSource)
	if err != nil {
		return nil, err
	}
	return &Source{Log: l, Partition: s.Partition()}, nil
}

// Close ends all logs.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, l := range s.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
