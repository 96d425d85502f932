package basic

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"fmt"

	"golang.org/x/text/secure/precis"

	"github.com/hengedb/henge/internal/fault"
)

// Credential is the stored form of a password: PBKDF2 with HMAC-SHA512, and a verifier with which
// the PostgreSQL protocol verifies the password without receiving it.
type Credential struct {
	Salt       []byte `json:"salt"`
	Hash       []byte `json:"hash"`
	Iterations int    `json:"iterations"`
	Scram      *Scram `json:"scram,omitempty"`
}

// Scram is a verifier of SCRAM-SHA-256 (RFC 5802, RFC 7677).
type Scram struct {
	Salt       []byte `json:"salt"`
	Iterations int    `json:"iterations"`
	StoredKey  []byte `json:"storedKey"`
	ServerKey  []byte `json:"serverKey"`
}

const (
	saltBytes = 32
	hashBytes = 64
	// scramSaltBytes and the bounds of the iterations are those that PostgreSQL and its drivers
	// expect: a client computes them at each login.
	scramSaltBytes     = 16
	minScramIterations = 4096
	maxScramIterations = 600_000
)

// NewCredential returns the stored form of a password.
func NewCredential(password string, iterations int) (*Credential, error) {
	switch {
	case password == "":
		return nil, fault.InvalidInput("Cannot assign empty password.")
	case iterations < minIterations || iterations > maxIterations:
		return nil, fault.InvalidInput("Value [%d] of [iterations] is not between [%d] and [%d]", iterations, minIterations, maxIterations)
	}
	c := &Credential{Salt: random(saltBytes), Iterations: iterations}
	var err error
	if c.Hash, err = hash(password, c.Salt, iterations); err != nil {
		return nil, err
	}
	c.Scram, err = newScram(password, min(max(iterations, minScramIterations), maxScramIterations))
	return c, err
}

func random(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out) // it never fails: the process ends instead
	return out
}

func hash(password string, salt []byte, iterations int) ([]byte, error) {
	out, err := pbkdf2.Key(sha512.New, password, salt, iterations, hashBytes)
	if err != nil { // only where FIPS mode refuses the lengths
		return nil, fault.Runtime("A password could not be hashed").WithCause(err)
	}
	return out, nil
}

// equal compares in a time that does not depend on the values.
func equal(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// valid refuses stored records that could make a verification fail or never end.
func (c *Credential) valid() error {
	if len(c.Hash) != hashBytes || len(c.Salt) == 0 || c.Iterations < 1 || c.Iterations > maxIterations {
		return fmt.Errorf("a credential with a hash of [%d] bytes, a salt of [%d] bytes and [%d] iterations is not readable",
			len(c.Hash), len(c.Salt), c.Iterations)
	}
	return nil
}

func newScram(password string, iterations int) (*Scram, error) {
	return scramOf(password, random(scramSaltBytes), iterations)
}

func scramOf(password string, salt []byte, iterations int) (*Scram, error) {
	salted, err := pbkdf2.Key(sha256.New, prepared(password), salt, iterations, sha256.Size)
	if err != nil {
		return nil, fault.Runtime("A password could not be hashed").WithCause(err)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	return &Scram{Salt: salt, Iterations: iterations, StoredKey: stored[:], ServerKey: mac(salted, "Server Key")}, nil
}

// prepared is a password as clients of SCRAM normalize it; one that can't be is used as it is, as
// PostgreSQL does.
func prepared(password string) string {
	if text, err := precis.OpaqueString.String(password); err == nil {
		return text
	}
	return password
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
