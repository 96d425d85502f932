package obs

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// LogOptions define the format of the log. The zero value is text at level info.
type LogOptions struct {
	Format string // "text" or "json"; empty is text
	Level  string // "debug", "info", "warn" or "error", in any case; empty is info
}

// Validate returns an InvalidInput fault that names an invalid option.
func (o LogOptions) Validate() error {
	_, err := o.level()
	if err == nil && o.Format != "" && o.Format != "text" && o.Format != "json" {
		err = fault.InvalidInput("Unknown log format [%s]: expected one of [text, json]", o.Format)
	}
	return err
}

func (o LogOptions) level() (slog.Level, error) {
	switch strings.ToLower(o.Level) {
	case "debug":
		return slog.LevelDebug, nil
	case "", "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	default:
		return 0, fault.InvalidInput("Unknown log level [%s]: expected one of [debug, info, warn, error]", o.Level)
	}
}

// NewLogger returns a logger to w whose records also contain the query, task and trace of their
// context. Records of the logger, and of loggers derived from it, are written atomically.
func NewLogger(w io.Writer, o LogOptions) (*slog.Logger, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	level, err := o.level()
	if err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, options)
	if o.Format == "json" {
		h = slog.NewJSONHandler(w, options)
	}
	return slog.New(contextHandler{Masked(h)}), nil
}

// contextHandler adds the attributes of a record's context.
type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if list := attrs(ctx); len(list) > 0 {
		r = r.Clone() // the caller may still use its record
		r.AddAttrs(list...)
	}
	return h.Handler.Handle(ctx, r)
}

func (h contextHandler) WithAttrs(list []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(list)}
}

func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}
