package broker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/jsontext"
)

const (
	// maxWarnings and maxWarningText bound the warnings of a query: they are sent in a header.
	maxWarnings, maxWarningText = 5, 500
)

// warnings are what a user should know of the data that a query has read. It is safe for use by
// many goroutines.
type warnings struct {
	mu   sync.Mutex
	kept []string
	more int
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) == maxWarnings {
		w.more++
		return
	}
	if runes := []rune(text); len(runes) > maxWarningText {
		text = string(runes[:maxWarningText]) + "..."
	}
	w.kept = append(w.kept, text)
}

// join returns a response context with the member warnings, if there are any.
func (w *warnings) join(responseContext string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) == 0 {
		return responseContext
	}
	list := w.kept
	if w.more > 0 {
		list = append(slices.Clip(list), fmt.Sprintf("[%d] more warnings are left out", w.more))
	}
	text, err := jsontext.Marshal(list)
	if err != nil { // texts can always be written
		return responseContext
	}
	before := strings.TrimSuffix(responseContext, "}")
	if before != "{" {
		before += ","
	}
	return before + `"warnings":` + inASCII(text) + "}"
}

// inASCII escapes what a header can't hold in a JSON text.
func inASCII(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
