package edge

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

const (
	// smallBody is how much a body may take without being reserved.
	smallBody = 64 << 10
	// chargeStep is how much is reserved at once while a body grows.
	chargeStep = 256 << 10
	// largeBody is the size in bytes from which a body is decoded in turn.
	largeBody = 1 << 20
	// expandedBody is how much of a compressed body is read whatever it unpacks to.
	expandedBody = 8 << 20
	// decodeWait is how long a large body waits for its turn.
	decodeWait = 30 * time.Second
	// drainBytes and drainTime bound what is read of a refused body, so that a client that sends
	// before it reads sees why it is refused.
	drainBytes = 64 << 20
	drainTime  = 3 * time.Second
	// memoryPart is which part of the memory of a process one body may take, as a divisor.
	memoryPart = 2
)

// Metered returns h behind the limits for the bodies of a pattern, for a handler that reads the
// bodies of forwarded requests.
func Metered(pattern string, h Handler) Handler {
	kind, _ := kindOf(pattern)
	return kind.metered(h)
}

// metered returns h behind the limits of its kind of bodies: they have a size, their memory is
// reserved until the end of the request, and only some large ones are decoded at a time.
func (k bodyKind) metered(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		limits := limitsOf(r.Context())
		_, already := r.Context().Value(bodyKey{}).(*meteredBody)
		if already || limits == nil || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
			return h(w, r)
		}
		b := &meteredBody{inner: r.Body, ctx: r.Context(), kind: k, limits: limits, account: budget.NewAccount(limits.Memory),
			control: http.NewResponseController(w), declared: r.ContentLength}
		b.packed, _ = r.Context().Value(packedKey{}).(*packedBody)
		defer b.finish()
		if k.size != nil {
			b.most = k.size(limits)
		}
		if b.most.Bytes > 0 && r.ContentLength > b.most.Bytes {
			b.drain()
			return b.TooLarge()
		}
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b))
		r.Body = b
		out := &unlessRefused{ResponseWriter: w, body: b}
		err := h(out, r)
		if b.refused != nil && !out.begun {
			b.drain()
			return b.refused
		}
		return err
	}
}

type bodyKey struct{}

// Decoded releases the decoder of a request whose body is decoded and planned, so that another
// large body can be decoded.
func Decoded(ctx context.Context) {
	if b, ok := ctx.Value(bodyKey{}).(*meteredBody); ok {
		b.leave()
	}
}

// packedBody counts the bytes of a body as they come, before they are unpacked.
type packedBody struct {
	io.ReadCloser
	n int64
}

type packedKey struct{}

// Read implements io.Reader.
func (p *packedBody) Read(to []byte) (int, error) {
	n, err := p.ReadCloser.Read(to)
	p.n += int64(n)
	return n, err
}

// expanded refuses a body that has unpacked to more than it may.
func (p *packedBody) expanded(size int64, l *Limits) error {
	if p == nil || l == nil || l.Expansion <= 0 || size <= expandedBody || size/l.Expansion <= p.n {
		return nil
	}
	return TooLarge("The request body decompresses to more than [%d] times its size, the limit of service.server.http.maxExpansion.",
		l.Expansion)
}

// Unpacked limits the data that a handler itself unpacks from the body of a request.
func Unpacked(ctx context.Context, from io.Reader) io.Reader {
	packed, _ := ctx.Value(packedKey{}).(*packedBody)
	return &unpackedBody{from: from, packed: packed, limits: limitsOf(ctx)}
}

type unpackedBody struct {
	from   io.Reader
	packed *packedBody
	limits *Limits
	size   int64
}

// Read implements io.Reader.
func (u *unpackedBody) Read(to []byte) (int, error) {
	n, err := u.from.Read(to)
	u.size += int64(n)
	if refused := u.packed.expanded(u.size, u.limits); refused != nil {
		return n, refused
	}
	return n, err
}

// meteredBody is a request's body that counts what it costs. It belongs to the handler's goroutine.
type meteredBody struct {
	inner    io.ReadCloser
	ctx      context.Context
	kind     bodyKind
	limits   *Limits
	control  *http.ResponseController
	account  budget.Account
	declared int64 // Content-Length; -1: not known
	most     Size

	packed       *packedBody // nil: it is not compressed
	size, tokens int64
	quoted       bool // within a text
	escaped      bool // behind a backslash there
	ended        bool
	turn         bool  // it has one of limits.Decoders
	refused      error // why no more is read
}

// Read implements io.Reader. An error that it returns once it returns always.
func (b *meteredBody) Read(p []byte) (int, error) {
	if b.refused != nil {
		return 0, b.refused
	}
	if b.limits.Idle > 0 {
		_ = b.control.SetReadDeadline(clock.Deadline(b.limits.Idle)) // a recorder of a test has none
	}
	n, err := b.inner.Read(p)
	b.count(p[:n])
	if b.most.Bytes > 0 && b.size > b.most.Bytes {
		return 0, b.refuse(b.TooLarge())
	}
	if refused := b.packed.expanded(b.size, b.limits); refused != nil && b.kind.size != nil {
		return 0, b.refuse(refused)
	}
	if refused := b.charge(err != nil); refused != nil {
		return 0, b.refuse(refused)
	}
	if err != nil && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{}) // what is read now is whether the client is there
		if err == io.EOF && b.size >= largeBody && b.kind.perByte > 0 {
			if refused := b.enter(); refused != nil {
				return 0, b.refuse(refused)
			}
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *meteredBody) Close() error { return b.inner.Close() }

func (b *meteredBody) refuse(err error) error {
	b.refused = err
	return err
}

// count adds up the bytes and tokens of a part of the body.
func (b *meteredBody) count(part []byte) {
	b.size += int64(len(part))
	if b.kind.perToken == 0 {
		return
	}
	for _, c := range part {
		switch {
		case b.escaped:
			b.escaped = false
		case b.quoted && c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted && !b.kind.inTexts:
		default:
			b.tokens += int64(token[c])
		}
	}
}

// token is 1 for the bytes that stand between two values of JSON, or two operands of a statement.
var token = func() (out [256]uint8) {
	for _, c := range []byte(",:{[(+-*/<>=|;?.'") {
		out[c] = 1
	}
	return out
}()

// charge reserves what the body takes so far.
func (b *meteredBody) charge(last bool) error {
	cost := b.kind.perByte*b.size + b.kind.perToken*b.tokens
	held := b.account.Held()
	if cost <= held || cost < smallBody || !last && cost < held+chargeStep {
		return nil
	}
	if !last {
		cost += chargeStep
	}
	if limit := b.limits.Memory.Limit(); limit != budget.Unlimited && cost > limit/memoryPart {
		return TooLarge("The request body of [%d] bytes takes more than [%d] bytes of memory to read, which is the part of service.memory.limit that one body may take. "+
			"Send it in pieces, or raise service.memory.limit.", max(b.declared, b.size), limit/memoryPart)
	}
	if !b.account.TrySet(cost) {
		return fault.Capacity("There is not enough memory now to read a request body of [%d] bytes. Send the request again later.", max(b.declared, b.size))
	}
	return nil
}

// enter waits until the body may be decoded.
func (b *meteredBody) enter() error {
	if b.limits.Decoders == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(b.ctx, decodeWait)
	defer cancel()
	select {
	case b.limits.Decoders <- struct{}{}:
		b.turn = true
		return nil
	case <-ctx.Done():
		return fault.Capacity("Too many large request bodies wait to be read; [%d] are at a time. Send the request again later.", cap(b.limits.Decoders))
	}
}

// leave lets another body be decoded.
func (b *meteredBody) leave() {
	if b.turn {
		b.turn = false
		<-b.limits.Decoders
	}
}

// finish gives all back.
func (b *meteredBody) finish() {
	b.leave()
	b.account.Close()
}

// drain reads what is left of a refused body.
func (b *meteredBody) drain() {
	_ = b.control.SetReadDeadline(clock.Deadline(drainTime))
	_, _ = io.CopyN(io.Discard, b.inner, drainBytes) // it is refused whatever it is
}

// tooLarge says that the body is.
func (b *meteredBody) TooLarge() error {
	if b.declared > b.most.Bytes {
		return TooLarge("The request body of [%d] bytes is larger than [%d] bytes, the limit of this endpoint, which %s sets.", b.declared, b.most.Bytes, b.most.Setting)
	}
	return TooLarge("The request body is larger than [%d] bytes, the limit of this endpoint, which %s sets.", b.most.Bytes, b.most.Setting)
}

// unlessRefused drops what a handler says to a body that was refused.
type unlessRefused struct {
	http.ResponseWriter
	body  *meteredBody
	begun bool
}

// WriteHeader begins the answer.
func (u *unlessRefused) WriteHeader(status int) {
	if u.drops() {
		return
	}
	u.begun = u.begun || status >= http.StatusOK
	u.ResponseWriter.WriteHeader(status)
}

// Write is a part of the answer.
func (u *unlessRefused) Write(p []byte) (int, error) {
	if u.drops() {
		return len(p), nil
	}
	if !u.begun {
		u.begun = true
		u.body.leave()
	}
	return u.ResponseWriter.Write(p)
}

func (u *unlessRefused) drops() bool { return u.body.refused != nil && !u.begun }

// Unwrap lets http.ResponseController reach the connection.
func (u *unlessRefused) Unwrap() http.ResponseWriter { return u.ResponseWriter }
