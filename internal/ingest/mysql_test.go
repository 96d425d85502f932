package ingest

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/mariadb"
)

// TestMySQLSource reads every kind of column from a real server, which must not be written to.
func TestMySQLSource(t *testing.T) {
	uri := mariadb.URI(t, "CREATE TABLE o (Id BIGINT, big BIGINT UNSIGNED, who VARCHAR(20), price DOUBLE, dec1 DECIMAL(30,2), at DATETIME(3), day DATE, raw BLOB, j JSON, f FLOAT, yes BOOL); "+
		"INSERT INTO o VALUES (1, 18446744073709551615, 'jö', 1.5, 12345678901234567890.25, '2024-01-02 03:04:05.678', '2024-01-02', x'6869', '{\"a\":1}', 0.5, TRUE), "+
		"(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
	get := func(statement string, access *Access) ([][]any, error) {
		s, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"sql","sqls":[%q],"foldCase":true,"database":{"type":"mysql",
			"connectorConfig":{"connectURI":%q,"user":%q,"password":%q}}}`, statement, uri, mariadb.User, mariadb.Password)))
		if err != nil {
			t.Fatal(err)
		}
		columns := fields(t, "id long big string who string price double dec1 string at string day string raw string j string f double yes long")
		rows, _, err := readTable(t, &Table{Source: s, Fields: columns}, Options{Access: access}, 100)
		return rows, err
	}
	rows, err := get("SELECT * FROM o ORDER BY Id", nil)
	want := [][]any{
		{int64(1), "18446744073709551615", "jö", 1.5, "12345678901234567890.25", "2024-01-02T03:04:05.678Z", "2024-01-02T00:00:00.000Z", "aGk=", `{"a":1}`, 0.5, int64(1)},
		{int64(2), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
	}
	if d := cmp.Diff(want, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, statement := range []string{"DELETE FROM o", "SELECT nosuch FROM o", "SELECT 1; DROP TABLE o", "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE o"} {
		if rows, err := get(statement, nil); fault.Find(err) == nil {
			t.Errorf("%s: %v %v", statement, rows, err)
		}
	}
	if rows, err = get("SELECT id FROM o", nil); len(rows) != 2 {
		t.Errorf("the database was changed: %v %v", rows, err)
	}
	refused := &Access{CheckAddress: func(netip.AddrPort) error { return fault.Forbidden("Address is private") }}
	if _, err := get("SELECT id FROM o", refused); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryForbidden {
		t.Errorf("a private address was connected to: %v", err)
	}
}

func TestMySQLAddresses(t *testing.T) {
	for uri, want := range map[string]string{
		"jdbc:mysql://h:1/d?useSSL=false":                 "",
		"jdbc:mariadb://h/d?sslMode=VERIFY_IDENTITY":      "",
		"mysql://u:p@h/d?requireSSL=true&useSSL=true":     "",
		"jdbc:mysql://h/d?sslMode=perhaps":                "Value [perhaps]",
		"jdbc:mysql://h/d?allowLoadLocalInfile=true":      "Property [allowLoadLocalInfile]",
		"jdbc:mysql://h/d?autoDeserialize=true":           "Property [autoDeserialize]",
		"jdbc:mysql:nothing":                              "not readable",
		"jdbc:postgresql://h/d":                           "not readable",
		"jdbc:mysql://(host=a,allowLoadLocalInfile=true)": "not readable",
	} {
		db, err := MySQL(uri, "", secret.Text{}, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", uri, err, want)
		}
		if db != nil {
			db.Close()
		}
	}
}
