package basic

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// ScramMechanism is the name of the mechanism of a ScramServer. ScramPlus is the name with channel
// binding.
const (
	ScramMechanism = "SCRAM-SHA-256"
	ScramPlus      = ScramMechanism + "-PLUS"
)

// endPoint is the type of channel binding that is played: the hash of the server's certificate
// (RFC 5929).
const endPoint = "tls-server-end-point"

// Channel is the channel that an exchange may be bound to.
type Channel struct {
	// EndPoint is the hash of the certificate; nil: ScramPlus was not offered.
	EndPoint []byte
	// Bound says that the client has selected ScramPlus.
	Bound bool
}

// refusal says why the flag of a client's first message does not go with the channel; "": it does.
func (c Channel) refusal(flag string) string {
	switch {
	case c.Bound && flag != "p="+endPoint:
		return "it is not bound to the channel as " + endPoint + " says"
	case c.Bound:
		return ""
	case strings.HasPrefix(flag, "p="):
		return "it is bound to a channel, which was not chosen"
	case flag == "y" && c.EndPoint != nil: // somebody between has taken the offer away
		return "it says that channel binding was not offered, which it was"
	case flag != "n" && flag != "y":
		return "the header is missing"
	}
	return ""
}

// scramNonceBytes are those that the server adds to the nonce of a client.
const scramNonceBytes = 18

// ScramServer implements the server side of SCRAM-SHA-256 (RFC 5802, RFC 7677) for the users of the
// credential stores in a chain of authenticators. It is safe for concurrent use.
type ScramServer struct {
	filters []*Filter
	whole   bool
	key     []byte // makes the salts of users that don't exist
}

// NewScramServer returns a server for the credential stores in a chain.
func NewScramServer(chain []auth.Authenticator) *ScramServer {
	s := &ScramServer{key: random(sha256.Size)}
	for _, a := range chain {
		if f, ok := a.(*Filter); ok {
			if _, ok := f.Validator.(*Authenticator); ok {
				s.filters = append(s.filters, f)
			}
		}
	}
	s.whole = len(s.filters) == len(chain)
	return s
}

// Any reports whether the chain has a credential store. Whole reports whether it contains only
// credential stores.
func (s *ScramServer) Any() bool { return len(s.filters) > 0 }

// Whole is described at Any.
func (s *ScramServer) Whole() bool { return s.Any() && s.whole }

// found is where the search for a user ended. Without a user it is where attempts are counted.
type found struct {
	filter *Filter
	store  *Authenticator
	scram  *Scram // nil: there is no such user, or only a hash of its password is known
}

// find asks the stores in their order, as the chain does.
func (s *ScramServer) find(user string) (out found, err error) {
	for _, f := range s.filters {
		a := f.Validator.(*Authenticator) //nolint:errcheck // the others are not in the list
		users := a.users.Load()
		if users == nil {
			return out, a.notLoaded()
		}
		out = found{filter: f, store: a}
		if u, known := (*users)[user]; known && u.Credential != nil {
			out.scram = u.Credential.Scram
			return out, nil
		}
		if !f.PassOn {
			break
		}
	}
	return out, nil
}

// mock is the verifier of a user that does not exist: it looks like that of one who does, stays the
// same while the process runs, and fits no password.
func (s *ScramServer) mock(user string, iterations int) *Scram {
	return &Scram{
		Salt: mac(s.key, "salt of "+user)[:scramSaltBytes], Iterations: min(max(iterations, minScramIterations), maxScramIterations),
		StoredKey: mac(s.key, "stored key of "+user), ServerKey: mac(s.key, "server key of "+user),
	}
}

// Exchange is one login attempt. It belongs to one connection.
type Exchange struct {
	server     *ScramServer
	user, peer string
	at         found
	scram      *Scram // the user's, or a mock
	// binding, bare, challenge and nonce are what the proof is about.
	binding, bare, challenge, nonce string
}

// badMessage is the error of one that is none of the mechanism.
func badMessage(why string) error {
	return fault.InvalidInput("A message of the login is malformed: %s", why)
}

// Begin processes the first message of a client. The user is known from the protocol; the name in
// the message is ignored. It returns the challenge for the client. Unknown users receive a
// challenge, too.
func (s *ScramServer) Begin(user, peer string, over Channel, first []byte) (x *Exchange, challenge []byte, err error) {
	x = &Exchange{server: s, user: user, peer: host(peer)}
	flag, rest, _ := strings.Cut(string(first), ",")
	if why := over.refusal(flag); why != "" {
		return nil, nil, badMessage(why)
	}
	identity, bare, ok := strings.Cut(rest, ",")
	if !ok || identity != "" {
		return nil, nil, badMessage("it requests an identity that differs from its user")
	}
	parts := strings.Split(bare, ",")
	if len(parts) < 2 || !strings.HasPrefix(parts[0], "n=") || !strings.HasPrefix(parts[1], "r=") {
		return nil, nil, badMessage("the name or the nonce is missing")
	}
	own := parts[1][len("r="):]
	if own == "" || strings.ContainsFunc(own, func(r rune) bool { return r < '!' || r > '~' }) {
		return nil, nil, badMessage("the nonce is not printable")
	}
	if x.at, err = s.find(user); err != nil {
		return nil, nil, err
	}
	mock := s.mock(user, x.at.store.o.Iterations) // made for everybody, as it takes its time
	if x.scram = x.at.scram; x.scram == nil {
		x.scram = mock
	}
	if x.binding, x.bare = flag+",,", bare; over.Bound {
		x.binding += string(over.EndPoint)
	}
	x.nonce = own + base64.StdEncoding.EncodeToString(random(scramNonceBytes))
	x.challenge = "r=" + x.nonce + ",s=" + base64.StdEncoding.EncodeToString(x.scram.Salt) + ",i=" + strconv.Itoa(x.scram.Iterations)
	return x, []byte(x.challenge), nil
}

// Finish processes the last message of the client. It returns the identity of the client, and the
// proof that the client talks to the intended server. A wrong proof is an Unauthorized fault and
// counts like a wrong password.
func (x *Exchange) Finish(ctx context.Context, final []byte) (id *auth.Identity, signature []byte, err error) {
	text := string(final)
	end := strings.LastIndex(text, ",p=")
	if end < 0 {
		return nil, nil, badMessage("the proof is missing")
	}
	parts := strings.Split(text[:end], ",")
	if len(parts) < 2 || parts[0] != "c="+base64.StdEncoding.EncodeToString([]byte(x.binding)) || parts[1] != "r="+x.nonce {
		return nil, nil, badMessage("it does not belong to the exchange")
	}
	proof, err := base64.StdEncoding.Strict().DecodeString(text[end+len(",p="):])
	if err != nil || len(proof) != sha256.Size {
		return nil, nil, badMessage("the proof is not readable")
	}
	limit := x.at.store.limit
	if limit.blocked(x.user, x.peer) {
		if err := x.at.store.o.Clock.Sleep(ctx, refusalDelay); err != nil {
			return nil, nil, err
		}
		return nil, nil, errWrong
	}
	about := x.bare + "," + x.challenge + "," + text[:end]
	for i, b := range mac(x.scram.StoredKey, about) {
		proof[i] ^= b
	}
	stored := sha256.Sum256(proof)
	if right := hmac.Equal(stored[:], x.scram.StoredKey); !right || x.at.scram == nil {
		limit.failed(x.user, x.peer)
		return nil, nil, errWrong
	}
	id = &auth.Identity{Name: x.user, Authorizer: x.at.filter.Authorizer, By: x.at.filter.Name}
	return id, []byte("v=" + base64.StdEncoding.EncodeToString(mac(x.scram.ServerKey, about))), nil
}

// errWrong is the answer to wrong passwords and unknown users.
var errWrong = fault.Unauthorized("User authentication failed.")

// Still returns nil while the verified password is still the password of the user, for protocols
// with long-lived connections.
func (x *Exchange) Still() error {
	now, err := x.server.find(x.user)
	switch {
	case err != nil:
		return err
	case now.filter != x.at.filter || now.scram == nil || !equal(now.scram.StoredKey, x.scram.StoredKey):
		return errWrong
	}
	return nil
}
