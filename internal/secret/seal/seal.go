// Package seal encrypts values that are stored by clients, which can neither read nor change them:
// tickets of clients, cookies of browsers, and messages between processes that clients carry.
//
// The central type is Sealer. A sealed value has a kind and an expiry; it cannot be opened as
// another kind or later. The processes of a cluster share keys through the metadata store
// (internal/role).
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// KeyBytes is the length of the key that seals.
const KeyBytes = 32

// Sealer seals values with AES-256-GCM. It is safe for concurrent use.
type Sealer struct {
	aead  cipher.AEAD
	clock clock.Clock
}

// New returns a sealer with a key of KeyBytes.
func New(key []byte, c clock.Clock) (*Sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &Sealer{aead, c}, err
}

// sealed is what is within: a value and when it expires, in milliseconds.
type sealed struct {
	Expires int64           `json:"e"`
	Value   json.RawMessage `json:"v"`
}

// Seal encrypts a value.
func (s *Sealer) Seal(kind string, value any, life time.Duration) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	text, err = json.Marshal(sealed{clock.Millis(s.clock) + life.Milliseconds(), text})
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(text)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	return s.aead.Seal(nonce, nonce, text, []byte(kind)), nil
}

// Open reads a value. expired says that it was one once.
func (s *Sealer) Open(kind string, data []byte, value any) (expired, ok bool) {
	n := s.aead.NonceSize()
	if len(data) < n {
		return false, false
	}
	text, err := s.aead.Open(nil, data[:n], data[n:], []byte(kind))
	var in sealed
	if err != nil || json.Unmarshal(text, &in) != nil {
		return false, false
	}
	if in.Expires <= clock.Millis(s.clock) {
		return true, false
	}
	return false, unmarshal(in.Value, value) == nil
}

// SealText is Seal for where only text may stand, such as headers and cookies.
func (s *Sealer) SealText(kind string, value any, life time.Duration) (string, error) {
	data, err := s.Seal(kind, value, life)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// OpenText reads what SealText has made.
func (s *Sealer) OpenText(kind, text string, value any) (expired, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false, false
	}
	return s.Open(kind, data, value)
}

// unmarshal reads JSON with numbers as they are written.
func unmarshal(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}
