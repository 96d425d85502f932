package metastore

import (
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Options says where the store is. The zero value is not valid: one of Path and URL must be set.
type Options struct {
	// Path is the file of a SQLite database, created if it is not there. One process may have it open.
	Path string
	// URL is a PostgreSQL connection string, for many processes.
	URL string
	// User and Password, where they are not empty, take the place of those in URL.
	User     string
	Password secret.Text
	// Sealer, if not nil, encrypts payloads that may hold secrets: tasks and their records, settings,
	// supervisors and statements.
	Sealer *secret.Sealer
	// Clock is read for the instants of rows and the versions of locks. Nil is the system's.
	Clock clock.Clock
	// Release is the version of this program, written into the store and named when an older program
	// refuses it.
	Release string
	// MaxAuditBytes is how large the payload of an audit entry may be; of a larger one the history
	// says so instead. 0: any size.
	MaxAuditBytes int64
	// NoAudit keeps no audit history: entries are only given to Audited.
	NoAudit bool
	// Audited, if not nil, is told of each entry of the audit history when it is written. It does not
	// wait.
	Audited func(AuditEntry)
	// MakeRoom, if not nil, is called when the disk of a SQLite database is full; if it reports that
	// there is room now, what failed is tried once more.
	MakeRoom func() bool
	// Fresh, if not nil, is called before a SQLite database is made where there is none, or filled
	// where it is empty. An error keeps it from being made.
	Fresh func(path string) error
	// FaultPoint, if not nil, is called with the name of each step of Publish (see publishSteps). If
	// it returns an error, the process counts as crashed at this step: nothing more is written, the
	// operation and all later writes fail. Tests only.
	FaultPoint func(step string) error

	// idleTransaction is how long PostgreSQL leaves a transaction of this process open that does
	// nothing.
	idleTransaction time.Duration
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

// Validate reports what is wrong with the options.
func (o Options) Validate() error {
	if (o.Path == "") == (o.URL == "") {
		return fault.InvalidInput("The metadata store needs either the path of a SQLite file or the URL of a PostgreSQL database")
	}
	return nil
}

// String tells which store it is, without the secrets of a URL.
func (o Options) String() string {
	if o.URL != "" {
		return "postgresql"
	}
	return fmt.Sprintf("sqlite [%s]", o.Path)
}
