package metastore

import (
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Options locate and configure the store. The zero value is not valid: one of Path and URL must be
// set.
type Options struct {
	// Path is the file of a SQLite database, which is created if it does not exist. Only one process
	// may open it.
	Path string
	// URL is a PostgreSQL connection string, for many processes.
	URL string
	// User and Password, if not empty, replace those in URL.
	User     string
	Password secret.Text
	// Sealer, if not nil, encrypts payloads that may hold secrets: tasks and their records, settings,
	// supervisors and statements.
	Sealer *secret.Sealer
	// Clock supplies the instants of rows and the versions of locks. Nil: the system clock.
	Clock clock.Clock
	// Release is the version of this program. It is written into the store, and an older program that
	// rejects the store names it.
	Release string
	// MaxAuditBytes is the maximum size of the payload of an audit entry; a larger payload is replaced
	// by a note. 0: no limit.
	MaxAuditBytes int64
	// NoAudit disables the audit history: entries are only passed to Audited.
	NoAudit bool
	// Audited, if not nil, is called with each entry of the audit history when it is written. It must
	// not block.
	Audited func(AuditEntry)
	// MakeRoom, if not nil, is called when the disk of a SQLite database is full; if it returns true,
	// the failed operation is retried once.
	MakeRoom func() bool
	// Fresh, if not nil, is called before a missing SQLite database is created or an empty one is
	// filled. An error prevents that.
	Fresh func(path string) error
	// FaultPoint, if not nil, is called with the name of each step of Publish (see publishSteps). If
	// it returns an error, the store simulates a crash at this step: nothing more is written, and the
	// operation and all later writes fail. For tests only.
	FaultPoint func(step string) error

	// idleTransaction is how long PostgreSQL leaves a transaction of this process open that does
	// nothing.
	idleTransaction time.Duration
	// repeat has each operation and each view run twice, the first time in vain, as when the
	// connection breaks at its end. Tests only.
	repeat bool
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Release == "" {
		o.Release = "dev"
	}
	if o.idleTransaction == 0 {
		o.idleTransaction = maxIdleTransaction
	}
	return o
}

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	if (o.Path == "") == (o.URL == "") {
		return fault.InvalidInput("The metadata store needs either the path of a SQLite file or the URL of a PostgreSQL database")
	}
	return nil
}

// String describes the store, without the secrets of a URL.
func (o Options) String() string {
	if o.URL != "" {
		return "postgresql"
	}
	return fmt.Sprintf("sqlite [%s]", o.Path)
}
