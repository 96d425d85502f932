package metastore

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Processes that share a PostgreSQL tell each other what they have written (NOTIFY), so that none
// has to look for it: new numbers of the change stream, locks that are free, members that came or
// went, settings. A process listens on a connection of its own. While that is not there, or does
// not deliver (some poolers take LISTEN and never notify), it looks as often as before: it counts
// only when a message of its own has come back.

// notifyChannel is where they tell; a message is the words of what there is, separated by blanks.
const notifyChannel = "henge"

const (
	notifyChange   = "change"
	notifyUnlock   = "unlock"
	notifyMembers  = "members"
	notifySettings = "settings"
	notifyHello    = "hello:" // and a word of who asks
)

const (
	// listenAgain is how long after listening has failed it is tried again.
	listenAgain = 2 * time.Second
	// pollHeard is how often a process looks that is told: messages of a connection that broke without
	// a word are lost.
	pollHeard = 5 * time.Second
)

// tell is a statement that tells all processes when its transaction is committed.
func (c conn) tell(ctx context.Context, words ...string) error {
	if c.dialect.lockWriter == "" || len(words) == 0 {
		return nil
	}
	_, err := c.exec(ctx, "SELECT pg_notify(?, ?)", notifyChannel, strings.Join(words, " "))
	return err
}

// listen raises the signals of what other processes tell, until ctx is done.
func (s *Store) listen(ctx context.Context) {
	defer close(s.listened)
	for ctx.Err() == nil {
		_ = s.hear(ctx) // looking goes on meanwhile
		s.heard.Store(false)
		_ = s.clock.Sleep(ctx, listenAgain) // the loop looks why
	}
}

// hear listens on one connection until it breaks.
func (s *Store) hear(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, s.listener.Copy())
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it was only read
	if _, err := c.Exec(ctx, "LISTEN "+notifyChannel); err != nil {
		return err
	}
	hello := notifyHello + rand.Text()
	if err := s.read().tell(ctx, hello); err != nil {
		return err
	}
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		for word := range strings.FieldsSeq(n.Payload) {
			if word == hello {
				s.heard.Store(true)
				for _, missed := range []string{notifyChange, notifyUnlock, notifyMembers, notifySettings} { // what came before is looked for
					s.wake(missed)
				}
			}
			s.wake(word)
		}
	}
}

// wake wakes those of this process who wait for what a word is about. Words of later releases are
// about nothing here.
func (s *Store) wake(word string) {
	switch word {
	case notifyChange:
		s.changed.raise()
	case notifyUnlock:
		s.unlocked.raise()
	case notifyMembers:
		s.joined.raise()
	case notifySettings:
		s.settled.raise()
	}
}
