package obs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/hengedb/henge/internal/secret"
)

// maxLogText is how many bytes of one text a log line has at most: what comes from outside may be
// of any length.
const maxLogText = 4 << 10

// Masked returns a handler that masks secrets in records, both the secrets of their context and
// secrets recognizable in text, and truncates text longer than 4 KiB. h must escape line breaks.
func Masked(h slog.Handler) slog.Handler { return masked{h} }

type masked struct{ slog.Handler }

// Handle implements slog.Handler.
func (m masked) Handle(ctx context.Context, r slog.Record) error {
	held := secret.HeldBy(ctx)
	out := slog.NewRecord(r.Time, r.Level, shown(held, r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(slog.Attr{Key: cut(a.Key), Value: shownValue(held, a.Key, a.Value)})
		return true
	})
	return m.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (m masked) WithAttrs(list []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		out[i] = slog.Attr{Key: a.Key, Value: shownValue(nil, a.Key, a.Value)}
	}
	return masked{m.Handler.WithAttrs(out)}
}

// WithGroup implements slog.Handler.
func (m masked) WithGroup(name string) slog.Handler { return masked{m.Handler.WithGroup(name)} }

func shownValue(held *secret.Held, key string, v slog.Value) slog.Value {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindString:
		if secret.IsName(key) && v.String() != "" {
			return slog.StringValue(secret.Masked)
		}
		return slog.StringValue(shown(held, v.String()))
	case slog.KindGroup:
		group := v.Group()
		out := make([]slog.Attr, len(group))
		for i, a := range group {
			out[i] = slog.Attr{Key: a.Key, Value: shownValue(held, a.Key, a.Value)}
		}
		return slog.GroupValue(out...)
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.StringValue(shown(held, err.Error()))
		}
		text := fmt.Sprintf("%+v", v.Any())
		if s := shown(held, text); s != text {
			return slog.StringValue(s)
		}
	}
	return v
}

func shown(held *secret.Held, text string) string {
	if len(text) > 4*maxLogText { // to look at all of it would take as long as it is
		text = text[:4*maxLogText]
	}
	return cut(held.Mask(text))
}

func cut(text string) string {
	if len(text) <= maxLogText {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogText], "") + "..."
}
