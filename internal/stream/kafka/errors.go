package kafka

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// errorClasses is before the names that Kafka's own client gives to errors, as supervisors show
// them.
const errorClasses = "org.apache.kafka.common.errors."

// handshakeError is a TLS handshake that failed.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// trouble makes of what a client says an error that may pass, or returns the fault in it. doing
// says what was tried, as a sentence that goes on with ": ".
func (c *cluster) trouble(doing string, err error) error {
	if err == nil {
		return nil
	}
	if f := fault.Find(err); f != nil {
		return f // a setting, or an address that is not allowed
	}
	if already, ok := errors.AsType[*stream.ConnectionError](err); ok {
		return already
	}
	class, why := classify(err)
	if why == "" { // it took too long; then why the last connection failed says more
		if last := c.refused.get(); last != nil {
			if f := fault.Find(last); f != nil {
				return f
			}
			if lastClass, lastWhy := classify(last); lastWhy != "" {
				if lastClass != errorClasses+"NetworkException" {
					class = lastClass
				}
				why = lastWhy
			}
		}
	}
	message := doing
	if why != "" {
		message += ": " + why
	}
	return &stream.ConnectionError{Class: class, Message: message, Cause: err}
}

// classify returns the class of an error, and what to say of it; "": nothing but that there was no
// answer in time.
func classify(err error) (class, why string) {
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		return errorClasses + className(e.Message), e.Description
	}
	if e, ok := errors.AsType[*handshakeError](err); ok {
		return errorClasses + "SslAuthenticationException", tlsProblem(e.err)
	}
	if e, ok := errors.AsType[*loginError](err); ok {
		return errorClasses + "SaslAuthenticationException", e.why
	}
	_, eof := errors.AsType[*kgo.ErrFirstReadEOF](err)
	// Bytes of another protocol look like a size; the client has no type for that.
	if eof || strings.Contains(err.Error(), "invalid large response size") {
		return errorClasses + "NetworkException", "what answers does not speak the wanted [security.protocol]"
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return errorClasses + "TimeoutException", ""
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF):
		return errorClasses + "NetworkException", "the connection was closed"
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return errorClasses + "TimeoutException", fmt.Sprintf("host [%s] is not known", e.Name)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		if e.Timeout() {
			return errorClasses + "TimeoutException", ""
		}
		why := e.Err.Error()
		if at := strings.LastIndex(why, ": "); at >= 0 {
			why = why[at+2:] // "connect: connection refused"
		}
		if e.Addr != nil {
			why = fmt.Sprintf("%s at [%s]", why, e.Addr)
		}
		return errorClasses + "NetworkException", why
	}
	if strings.Contains(strings.ToLower(err.Error()), "sasl") {
		return errorClasses + "SaslAuthenticationException", "the login was refused"
	}
	return errorClasses + "TimeoutException", ""
}

// tlsProblem says what is wrong with a certificate, or that the handshake failed.
func tlsProblem(err error) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the broker's certificate is not for [%s]", e.Host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the broker's certificate is not signed by a trusted authority"
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the broker's certificate has expired"
	}
	return "the TLS handshake failed"
}

// className makes TopicAuthorizationException of TOPIC_AUTHORIZATION_FAILED.
func className(code string) string {
	code = strings.TrimSuffix(code, "_FAILED")
	var out strings.Builder
	for part := range strings.SplitSeq(code, "_") {
		if part != "" {
			out.WriteString(part[:1] + strings.ToLower(part[1:]))
		}
	}
	return out.String() + "Exception"
}
