package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// sealed begins every sealed text; behind it are the id of the key, a colon, and nonce, ciphertext
// and tag in base64:
//
//	sealed:v1:5f3a9c01:bm9uY2UrY2lwaGVydGV4dCt0YWc=
const sealed = "sealed:v1:"

// keyBytes is the length of a key, of AES-256.
const keyBytes = 32

// Sealer encrypts stored values with AES-256-GCM. The first key seals, all keys open. A nil Sealer
// seals nothing, and opens only values that are not sealed. It is safe for use by many goroutines.
type Sealer struct {
	keys []sealKey
	// plain says that nothing is sealed any more.
	plain bool
}

type sealKey struct {
	id   string
	aead cipher.AEAD
}

// OpenSealer reads the sealing key from file, and a key that only opens from previous, for key
// rotation. Without file, values sealed with the previous key are opened and then stored unsealed.
// Without both, the Sealer is nil.
func OpenSealer(file, previous string) (*Sealer, error) {
	if file == "" && previous == "" {
		return nil, nil
	}
	s := &Sealer{plain: file == ""}
	for _, path := range []string{file, previous} {
		if path == "" {
			continue
		}
		k, err := readKey(path)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

// readKey reads a key file: 32 bytes in base64 or hexadecimal digits.
func readKey(path string) (sealKey, error) {
	file, err := os.Open(path)
	if err != nil {
		return sealKey{}, fault.InvalidInput("Key file [%s] can't be read: %v", path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return sealKey{}, fault.InvalidInput("Key file [%s] can't be read: %v", path, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return sealKey{}, fault.InvalidInput("Key file [%s] has the mode [%04o], by which others than its owner can use it: chmod 600 %s",
			path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if err != nil {
		return sealKey{}, fault.InvalidInput("Key file [%s] can't be read: %v", path, err)
	}
	text = bytes.TrimSpace(text)
	key := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(key, text)
	if key = key[:n]; err != nil || len(key) != keyBytes {
		key, err = hex.DecodeString(string(text))
	}
	if err != nil || len(key) != keyBytes {
		return sealKey{}, fault.InvalidInput("Key file [%s] contains no key: write [%d] random bytes in base64 or hexadecimal digits, as "+
			"openssl rand -base64 32 does", path, keyBytes)
	}
	return newKey(key)
}

func newKey(key []byte) (sealKey, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealKey{}, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return sealKey{}, err
	}
	id := sha256.Sum256(append([]byte("henge key id:"), key...))
	return sealKey{hex.EncodeToString(id[:4]), aead}, nil
}

// Current returns the id of the sealing key; "": there is none.
func (s *Sealer) Current() string {
	if s == nil || s.plain {
		return ""
	}
	return s.keys[0].id
}

// Seal encrypts a text of a place, which is a table. A text sealed for one place can't be opened
// for another.
func (s *Sealer) Seal(place, text string) string {
	if s == nil || s.plain {
		return text
	}
	k := s.keys[0]
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(text)+k.aead.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	out := k.aead.Seal(nonce, nonce, []byte(text), []byte(place))
	return sealed + k.id + ":" + base64.StdEncoding.EncodeToString(out)
}

// Open decrypts a text of a place. A text that is not sealed is returned unchanged.
func (s *Sealer) Open(place, text string) (string, error) {
	rest, ok := strings.CutPrefix(text, sealed)
	if !ok {
		return text, nil
	}
	id, encoded, _ := strings.Cut(rest, ":")
	if s == nil {
		return "", errNoKey(id)
	}
	for _, k := range s.keys {
		if k.id != id {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && len(data) >= k.aead.NonceSize() {
			var plain []byte
			if plain, err = k.aead.Open(nil, data[:k.aead.NonceSize()], data[k.aead.NonceSize():], []byte(place)); err == nil {
				return string(plain), nil
			}
		}
		return "", fault.Runtime("A value in table [%s] of the metadata store is damaged: key [%s] has sealed it and does not open it", place, id)
	}
	return "", errNoKey(id)
}

func errNoKey(id string) error {
	return fault.InvalidInput("The metadata store has values that were sealed with key [%s], which is in neither of the files of the "+
		"settings "+
		"[service.metadata.secrets.keyFile] and [service.metadata.secrets.previousKeyFile]", id)
}

// SealedBy returns the id of the key that sealed a text; "": it is not sealed.
func SealedBy(text string) string {
	rest, ok := strings.CutPrefix(text, sealed)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ":")
	return id
}
