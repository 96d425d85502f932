package flight

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/hengedb/henge/internal/secret/seal"
)

// KeyBytes is the length of the key.
const KeyBytes = seal.KeyBytes

// The kinds of sealed data. Data sealed as one kind can't be opened as another.
const (
	kindTicket   = "henge flight ticket"
	kindPrepared = "henge flight statement"
	kindToken    = "henge flight token"
)

// How long sealed data are valid.
const (
	ticketLife   = 30 * time.Minute
	preparedLife = 24 * time.Hour
	tokenLife    = 12 * time.Hour
)

// unmarshal reads JSON with numbers as they are written.
func unmarshal(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}
