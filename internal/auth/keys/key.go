package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// Key is the stored form of a key.
type Key struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Roles       []string `json:"roles"`
	// Networks are the networks from which the key can be used; none: all.
	Networks []string `json:"networks,omitempty"`
	// Expires is when the key expires; nil: never.
	Expires   *time.Time `json:"expires,omitempty"`
	Created   time.Time  `json:"created"`
	CreatedBy string     `json:"createdBy"`
	Rotated   *time.Time `json:"rotated,omitempty"`
	// Hash is the SHA-256 of the secret.
	Hash Hash `json:"hash"`
	// Previous is the hash of the previous secret, which is valid until PreviousUntil.
	Previous      *Hash      `json:"previous,omitempty"`
	PreviousUntil *time.Time `json:"previousUntil,omitempty"`
}

// Hash is the SHA-256 of a secret, in JSON as hexadecimal digits.
type Hash [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fault.InvalidInput("The hash of an API key has the wrong length")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// prefix begins every key, so that scanners of source code find keys that were left there.
const prefix = "hg_"

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func newSecret() (secret string, hash Hash) {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never fails
	secret = encoding.EncodeToString(b)
	return secret, sha256.Sum256([]byte(secret))
}

func newID() string {
	b := make([]byte, idBytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// name is that of the identity of a key: its public part.
func (k *Key) name() string { return prefix + k.ID }

func whole(id, secret string) string { return prefix + id + "_" + secret }

// parse divides a key. What does not have the form of one is none.
func parse(text string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_")
	ok = ok && len(id) == hex.EncodedLen(idBytes) && len(secret) == encoding.EncodedLen(secretBytes) &&
		!strings.ContainsFunc(id, func(c rune) bool { return !strings.ContainsRune("0123456789abcdef", c) })
	return id, secret, ok
}

// known is a key in the form in which requests are looked up.
type known struct {
	Key
	networks []netip.Prefix
}

func decode(text []byte) (map[string]*Key, error) {
	out := map[string]*Key{}
	if len(text) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fault.Runtime("The stored API keys can't be read").WithCause(err)
	}
	for id, k := range out {
		if k == nil || k.ID != id {
			return nil, fault.Runtime("The stored API key [%s] can't be read", id)
		}
	}
	return out, nil
}

// parseNetwork reads a network in CIDR notation, or a single address.
func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return p, fault.InvalidInput("Network [%s] is neither an address nor a network in CIDR notation such as [10.0.0.0/8]", text)
	}
	return p.Masked(), nil
}

func parseNetworks(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		p, err := parseNetwork(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
