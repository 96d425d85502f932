package lookup

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/testkit/mariadb"
)

// TestLookupOfMySQL reads a lookup from a real server, again only when its marker moves.
func TestLookupOfMySQL(t *testing.T) {
	uri := mariadb.URI(t, "CREATE TABLE `odd` (id INT, `na me` VARCHAR(20), at TIMESTAMP DEFAULT '2024-01-01 00:00:00'); "+
		"INSERT INTO `odd` (id, `na me`) VALUES (1, 'Zürich'), (2, NULL), (3, 'Bern'), (4, 'Basel')")
	s, err := parseDatabase(json.RawMessage(fmt.Sprintf(`{"type":"jdbc","connectorConfig":{"connectURI":%q,"user":%q,"password":{"type":"environment","variable":"PW"}},
		"table":"odd","keyColumn":"id","valueColumn":"na me","tsColumn":"at","filter":"id < 4"}`, uri, mariadb.User)))
	if err != nil {
		t.Fatal(err)
	}
	access := &ingest.Access{Getenv: func(string) (string, bool) { return mariadb.Password, true }}
	got := map[string]string{}
	add := func(key, value string) error { got[key] = value; return nil }
	changed, mark, err := s.read(t.Context(), access, "", add)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	if d := cmp.Diff(map[string]string{"1": "Zürich", "3": "Bern"}, got); d != "" {
		t.Error(d)
	}
	if changed, _, err := s.read(t.Context(), access, mark, add); changed || err != nil {
		t.Errorf("an unchanged table was read again: %v", err)
	}
}
