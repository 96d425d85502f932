package tasks

import (
	"encoding/json"
	"testing"

	"github.com/hengedb/henge/internal/tasklock"
)

// A filter of locks reads its context as tasks do: who replaces beside appends waits for no append.
func TestLockFiltersReadTheirContext(t *testing.T) {
	appends := &tasklock.Lock{Type: tasklock.Append, Priority: 50}
	for _, c := range []struct {
		context        string
		keeps, refused bool
	}{
		{context: `{}`, keeps: true}, {context: `null`, keeps: true}, {context: `{"useConcurrentLocks":false}`, keeps: true},
		{context: `{"useConcurrentLocks":true}`}, {context: `{"useConcurrentLocks":"true"}`}, {context: `{"taskLockType":"REPLACE"}`},
		{context: `{"taskLockType":"EXCLUSIVE"}`, keeps: true}, {context: `{"useConcurrentLocks":[]}`, refused: true},
	} {
		var f lockFilter
		if err := json.Unmarshal([]byte(`{"datasource":"wiki","context":`+c.context+`}`), &f); err != nil {
			t.Fatal(err)
		}
		if err := f.read(); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.context, err)
		} else if err == nil && f.keeps(appends) != c.keeps {
			t.Errorf("%s keeps the lock: %v", c.context, !c.keeps)
		}
	}
}
