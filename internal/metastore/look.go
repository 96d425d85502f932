package metastore

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Look connects to a metadata store without migrating it, and describes it. It returns an error if
// this release cannot use the store.
func Look(ctx context.Context, options Options) (state string, err error) {
	if options.URL == "" {
		if _, err := os.Stat(options.Path); errors.Is(err, os.ErrNotExist) {
			return "which the first start makes", nil
		}
	}
	s, err := attach(ctx, options)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.closeDatabases()) }()
	known, err := newestSchema()
	if err != nil {
		return "", err
	}
	c := conn{dialect: s.dialect, db: s.writers}
	current, err := c.schemaVersion(ctx)
	switch {
	case err != nil:
		return "", err
	case current == 0:
		return "which the first start fills", nil
	case current > known:
		if err := s.checkNewer(ctx, current, known); err != nil {
			return "", err
		}
		return fmt.Sprintf("of schema version [%d], which a newer release wrote for this one, too", current), nil
	case current < known:
		return fmt.Sprintf("of schema version [%d]; the start migrates it to [%d]", current, known), nil
	}
	return fmt.Sprintf("of schema version [%d]", current), nil
}
