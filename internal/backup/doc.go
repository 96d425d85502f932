// Package backup writes the state that a cluster must not lose into one file, and restores it: the
// rows of the metastore, the settings, and optionally the segment files of deep storage.
//
// Write makes a backup while servers run; Check reads one from end to end; Restore fills a
// metastore of either database, and deep storage, from it. The file is a sequence of frames with
// checksums, and ends with a digest of all frames (docs/format/backup.md). Restore checks the whole
// file before it writes anything.
//
// Package metastore knows the rows, package deepstore the locations of objects. Elsewhere on
// purpose: the choice of stores (role), and the check that no process runs during a restore.
//
//	frame.go, rows.go   the bytes
//	write.go            Write
//	read.go             Check, and reading the parts
//	restore.go          Restore
package backup

import (
	"encoding/json"
	"errors"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// ErrDamaged marks every error that says: this file is not what Write wrote, or not all of it.
var ErrDamaged = errors.New("backup is damaged")

// ErrNewer marks the error for a file of a format version that a later release writes.
var ErrNewer = errors.New("backup is of a newer release")

func damaged(format string, args ...any) error {
	return fault.InvalidInput("The backup is damaged: "+format, args...).WithCause(ErrDamaged)
}

// Manifest says what a backup holds. It is the first thing in the file.
type Manifest struct {
	// Release made the backup at Created, in milliseconds since 1970.
	Release string `json:"release"`
	Created int64  `json:"created"`
	// Source is the metastore it is of.
	Source metastore.Source `json:"source"`
	// Segments is whether the files of deep storage are in it.
	Segments bool `json:"segments"`
}

// Summary counts what a backup holds.
type Summary struct {
	// Rows are those of the metastore, by table.
	Rows map[string]int64 `json:"rows"`
	// Files and FileBytes are the segment files in the backup; Missing are those that deep storage did
	// not have.
	Files     int64    `json:"files"`
	FileBytes int64    `json:"fileBytes"`
	Missing   []string `json:"missing,omitempty"`
}

// Progress is told how far a step is, in its unit; total is 0 where it is not known.
type Progress func(step string, done, total int64)

func (p Progress) tell(step string, done, total int64) {
	if p != nil {
		p(step, done, total)
	}
}

// keySpec takes the place of the load spec of a file that lies in the deep storage of the cluster:
// so it fits another one.
type keySpec struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

const keySpecType = "backup"

// portable returns the load spec as the backup keeps it, and the key; a spec that is not of the
// store stays and has no key.
func portable(store deepstore.Store, spec string) (kept, key string) {
	key, err := store.Key(json.RawMessage(spec))
	if err != nil {
		return spec, ""
	}
	text, _ := json.Marshal(keySpec{keySpecType, key}) // texts always marshal
	return string(text), key
}

// placed returns the load spec of a backup as the store has it.
func placed(store deepstore.Store, spec string) (string, error) {
	var s keySpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return "", damaged("a load spec is not JSON")
	}
	if s.Type != keySpecType {
		return spec, nil
	}
	if err := deepstore.CheckKey(s.Key); err != nil {
		return "", err
	}
	return string(store.LoadSpec(s.Key)), nil
}
