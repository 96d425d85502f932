package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

// TestMessagesNameNoTypesOfGo: an error of encoding/json that is an argument of a message says what
// is wrong in words of JSON.
func TestMessagesNameNoTypesOfGo(t *testing.T) {
	type Part struct {
		Limit int `json:"limit"`
	}
	var into struct {
		Part
		Parts []Part `json:"parts"`
	}
	read := func(text string) error { return json.Unmarshal([]byte(text), &into) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{read(`[]`), "Can't read it: a JSON array does not fit"},
		{read(`{"limit":"x"}`), "Can't read it: field 'limit' can't be a JSON string"},
		{read(`{"parts":[{"limit":{}}]}`), "Can't read it: field 'parts.limit' can't be a JSON object"},
		{fmt.Errorf("part [3]: %w", read(`{"parts":{}}`)), "Can't read it: part [3]: field 'parts' can't be a JSON object"},
		{errors.New("no disk"), "Can't read it: no disk"},
	} {
		for _, f := range []*Error{InvalidInput("Can't read it: %v", c.err), InvalidSQL(Span{}, "Can't read it: %v", c.err)} {
			if f.Message != c.want {
				t.Errorf("%v: message is [%s], want [%s]", c.err, f.Message, c.want)
			}
		}
	}
}
