package keystore

import (
	"context"
	"log/slog"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Reloader is a Server or a Client.
type Reloader interface{ Reload() (bool, error) }

// Follow reads files again, once in a period, until ctx is done.
func Follow(ctx context.Context, c clock.Clock, period time.Duration, log *slog.Logger, list ...Reloader) {
	for c.Sleep(ctx, period) == nil {
		for _, r := range list {
			changed, err := r.Reload()
			switch {
			case err != nil:
				log.WarnContext(ctx, "failed to reload certificates; using the current ones", "error", err)
			case changed:
				log.InfoContext(ctx, "certificates reloaded")
			}
		}
	}
}
