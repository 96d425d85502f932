package grpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Media is the media type of calls.
const Media = "application/grpc"

const (
	// maxMessage bounds the text of a status: it is a header, which clients bound to 8 KB.
	maxMessage = 4000
	frameHead  = 5
	// maxTimeout is the longest deadline that is kept; a longer one is none.
	maxTimeout = 365 * 24 * time.Hour
)

// Options bound calls.
type Options struct {
	// MaxMessage is how many bytes a message from a client may have.
	MaxMessage int64
	// Memory is what messages are reserved from; nil: nothing is counted.
	Memory *budget.Budget
	// Idle is how long a call waits for the next message of its client; 0: any time.
	Idle time.Duration
	Log  *slog.Logger
}

// Stream is a call. Send is used by one goroutine, and so is Recv.
type Stream struct {
	w       http.ResponseWriter
	r       *http.Request
	o       *Options
	control *http.ResponseController
	account budget.Account
	buf     []byte
	begun   bool
	bytes   int64
}

// Serve answers calls by f. What f returns becomes the status.
func Serve(o *Options, f func(ctx context.Context, s *Stream) error) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if media = strings.TrimSpace(media); media != Media && media != Media+"+proto" {
			return edge.UnsupportedMedia("Content-Type [%.100s] is not gRPC; send [%s]", r.Header.Get("Content-Type"), Media)
		}
		ctx, cancel, err := withTimeout(r.Context(), r.Header.Get("Grpc-Timeout"))
		if err != nil {
			return err
		}
		defer cancel()
		s := &Stream{w: w, r: r, o: o, control: http.NewResponseController(w), account: budget.NewAccount(o.Memory)}
		defer s.account.Close()
		if c := r.Header.Get("Grpc-Encoding"); c != "" && c != "identity" {
			w.Header().Set("Grpc-Accept-Encoding", "identity")
			err = &Error{Unimplemented, "Compression [" + c + "] of messages is not supported; send them as they are"}
		} else {
			err = f(ctx, s)
		}
		s.end(ctx, err)
		if code, _ := CodeOf(err); code == Internal || code == Unknown {
			o.Log.ErrorContext(ctx, "gRPC call failed", "path", r.URL.Path, "error", secret.MaskError(ctx, err))
		}
		return nil
	}
}

// withTimeout ends ctx when the client says: digits and a unit.
func withTimeout(ctx context.Context, text string) (context.Context, context.CancelFunc, error) {
	if text == "" {
		return ctx, func() {}, nil
	}
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': 1}
	unit, known := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 64)
	if err != nil || !known || len(text) > 9 {
		return nil, nil, fault.Malformed("Value [%.20s] of header [grpc-timeout] is not a duration", text)
	}
	if n > uint64(maxTimeout/unit) {
		return ctx, func() {}, nil
	}
	late := fault.Timeout("The call did not end within [%s], which its client has set", time.Duration(n)*unit)
	ctx, cancel := context.WithDeadlineCause(ctx, clock.Deadline(time.Duration(n)*unit), late)
	return ctx, cancel, nil
}

// Request returns the request of the call.
func (s *Stream) Request() *http.Request { return s.r }

// Header returns the headers of the answer, before its first message.
func (s *Stream) Header() http.Header { return s.w.Header() }

// Sent returns how many bytes were sent.
func (s *Stream) Sent() int64 { return s.bytes }

// Recv returns the next message, io.EOF after the last. It is valid until the next call.
func (s *Stream) Recv() ([]byte, error) {
	if s.o.Idle > 0 {
		_ = s.control.SetReadDeadline(clock.Deadline(s.o.Idle)) // a recorder of a test has none
		defer func() { _ = s.control.SetReadDeadline(time.Time{}) }()
	}
	var head [frameHead]byte
	if _, err := io.ReadFull(s.r.Body, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, cut(err)
	}
	n := int64(binary.BigEndian.Uint32(head[1:]))
	switch {
	case head[0] == 1:
		return nil, &Error{Unimplemented, "The message is compressed, which is not supported"}
	case head[0] != 0:
		return nil, &Error{Internal, "The frame of a message begins with [" + strconv.Itoa(int(head[0])) + "], which should be 0"}
	case n > s.o.MaxMessage:
		return nil, &Error{ResourceExhausted, "The message has [" + strconv.FormatInt(n, 10) + "] bytes, more than [" +
			strconv.FormatInt(s.o.MaxMessage, 10) + "]"}
	}
	const step = 64 << 10
	s.buf = s.buf[:0]
	for int64(len(s.buf)) < n { // memory grows with what comes, not with what was announced
		have := len(s.buf)
		next := int(min(n-int64(have), int64(max(step, have))))
		if cap(s.buf) < have+next {
			if err := s.account.Set(int64(have + next)); err != nil {
				return nil, err
			}
			larger := make([]byte, have, have+next)
			copy(larger, s.buf)
			s.buf = larger
		}
		s.buf = s.buf[:have+next]
		if _, err := io.ReadFull(s.r.Body, s.buf[have:]); err != nil {
			return nil, cut(err)
		}
	}
	return s.buf, nil
}

const (
	// drainTime and drainBytes bound what is read of a call that is refused.
	drainTime  = 500 * time.Millisecond
	drainBytes = 1 << 20
)

// Drain reads what a client still sends, for a while, before a call is refused: some clients tell
// of a message that they could not send, and not of the status that says why.
func (s *Stream) Drain() {
	_ = s.control.SetReadDeadline(clock.Deadline(drainTime)) // a recorder of a test has none
	_, _ = io.CopyN(io.Discard, s.r.Body, drainBytes)        // whatever ends it, the call is refused
}

// One returns the only message of a call, which its client ends then.
func (s *Stream) One() ([]byte, error) {
	message, err := s.Recv()
	if errors.Is(err, io.EOF) {
		return nil, &Error{InvalidArgument, "The call has no message"}
	}
	return message, err
}

func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &Error{InvalidArgument, "The call ends within a message"}
	}
	return fault.Canceled("The call could not be read").WithCause(err)
}

// Send sends a message.
func (s *Stream) Send(message []byte) error { return s.SendParts(len(message), message) }

// SendParts sends a message that is made of parts, of so many bytes.
func (s *Stream) SendParts(size int, parts ...[]byte) error {
	s.begin()
	head := make([]byte, frameHead)
	binary.BigEndian.PutUint32(head[1:], uint32(size))
	if err := s.write(head); err != nil {
		return err
	}
	for _, p := range parts {
		if err := s.write(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := s.w.Write(p)
	s.bytes += int64(n)
	if err != nil {
		return fault.Canceled("The client does not read the answer").WithCause(err)
	}
	return nil
}

// Flush hands on what was sent.
func (s *Stream) Flush() error {
	s.begin()
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fault.Canceled("The client does not read the answer").WithCause(err)
	}
	return nil
}

// begin begins the answer.
func (s *Stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", Media)
	s.w.WriteHeader(http.StatusOK)
}

// end writes the status: as trailers, or as headers of an answer that has nothing else.
func (s *Stream) end(ctx context.Context, err error) {
	code, message := CodeOf(err)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + " ..."
	}
	message = secret.Mask(ctx, message)
	prefix := http.TrailerPrefix
	if !s.begun {
		prefix = ""
		s.w.Header().Set("Content-Type", Media)
	}
	s.w.Header()[prefix+"Grpc-Status"] = []string{strconv.Itoa(int(code))}
	if message != "" {
		s.w.Header()[prefix+"Grpc-Message"] = []string{escape(message)}
	}
	if !s.begun {
		s.begun = true
		s.w.WriteHeader(http.StatusOK)
	}
}
