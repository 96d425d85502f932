package peer

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/mariadb"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	mariadb.Stop()
	os.Exit(code)
}

func descriptor(dataSource, day string, partition int) string {
	return fmt.Sprintf(`{"dataSource":"%s","interval":"2026-01-%sT00:00:00.000Z/P1D","version":"v1","loadSpec":{"type":"local","path":"/x/%s/index.zip"},`+
		`"dimensions":"a,b","metrics":"c","shardSpec":{"type":"numbered","partitionNum":%d,"partitions":2},"binaryVersion":9,"size":7,"identifier":"x"}`,
		dataSource, day, dataSource, partition)
}

// placeholder is a parameter of a statement.
var placeholder = regexp.MustCompile(`\$\d`)

// tables are those of Druid's metadata store, as far as they are read; the types are PostgreSQL's,
// which SQLite takes too.
func tables(t *testing.T, db *sql.DB, mysql bool) {
	t.Helper()
	exec := func(statement string, args ...any) {
		t.Helper()
		if mysql { // whose parameters have no numbers
			given := args
			args = nil
			for _, p := range placeholder.FindAllString(statement, -1) {
				args = append(args, given[p[1]-'1'])
			}
			statement = strings.ReplaceAll(placeholder.ReplaceAllString(statement, "?"), "BYTEA", "LONGBLOB")
		}
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	exec(`CREATE TABLE druid_segments (id VARCHAR(255) NOT NULL, dataSource VARCHAR(255) NOT NULL, used BOOLEAN NOT NULL, payload BYTEA NOT NULL)`)
	exec(`CREATE TABLE druid_rules (id VARCHAR(255), dataSource VARCHAR(255), version VARCHAR(255), payload BYTEA)`)
	exec(`CREATE TABLE druid_config (name VARCHAR(255), payload BYTEA)`)
	exec(`CREATE TABLE druid_dataSource (dataSource VARCHAR(255), commit_metadata_payload BYTEA)`)
	exec(`INSERT INTO druid_dataSource VALUES ('wiki', $1), ('odd', $2)`,
		[]byte(`{"type":"kafka","partitions":{"type":"end","stream":"edits","partitionSequenceNumberMap":{"0":7}}}`), []byte(`null`))
	exec(`CREATE TABLE druid_supervisors (id BIGINT, spec_id VARCHAR(255), created_date VARCHAR(255), payload BYTEA)`)
	for i, payload := range []string{descriptor("wiki", "01", 0), descriptor("wiki", "02", 1), descriptor("wiki", "02", 0), descriptor("ads", "01", 0), "damaged"} {
		exec(`INSERT INTO druid_segments VALUES ($1, 'x', true, $2)`, fmt.Sprint(i), []byte(payload))
	}
	exec(`INSERT INTO druid_segments VALUES ('unused', 'wiki', false, $1)`, []byte(descriptor("wiki", "03", 0)))
	exec(`INSERT INTO druid_rules VALUES ('1', 'wiki', '2026-01-01', $1), ('2', 'wiki', '2026-01-02', $2), ('3', '_default', '2026-01-01', $1)`,
		[]byte(`[{"type":"loadForever"}]`), []byte(`[{"type":"dropForever"}]`))
	exec(`INSERT INTO druid_config VALUES ('coordinator.config', $1), ('coordinator.compaction.config', $2), ('lookups', $3), ('other', $1)`,
		[]byte(`{"maxSegmentsToMove":3}`), []byte(`{"compactionConfigs":[{"dataSource":"wiki","taskPriority":9}],"compactionTaskSlotRatio":0.1}`), []byte(`{"__default":{}}`))
	exec(`INSERT INTO druid_supervisors VALUES (1, 'wiki', '', $1), (2, 'gone', '', $1), (3, 'gone', '', $2)`,
		[]byte(`{"type":"kafka","spec":{}}`), []byte(`{"type":"NoopSupervisorSpec"}`))
}

func TestMetadataIsRead(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (address string, db *sql.DB){
		"sqlite": func(t *testing.T) (string, *sql.DB) {
			path := filepath.Join(t.TempDir(), "old.sqlite")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			return path, db
		},
		"postgres": func(t *testing.T) (string, *sql.DB) {
			address := postgres.URL(t)
			db, err := sql.Open("pgx", address)
			if err != nil {
				t.Fatal(err)
			}
			return address, db
		},
		"mysql": func(t *testing.T) (string, *sql.DB) {
			address := strings.Replace(mariadb.URI(t, "SELECT 1"), "jdbc:mysql://", mariadb.User+":"+mariadb.Password+"@tcp(", 1)
			dsn := strings.Replace(address, "/d", ")/d", 1)
			db, err := sql.Open("mysql", dsn)
			if err != nil {
				t.Fatal(err)
			}
			return "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(dsn), db
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, db := open(t)
			defer db.Close()
			tables(t, db, name == "mysql")
			found, err := ReadMetadata(t.Context(), address, DefaultPrefix)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range found.Segments {
				got = append(got, s.ID.String())
			}
			want := []string{
				"ads_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1", "wiki_2026-01-02T00:00:00.000Z_2026-01-03T00:00:00.000Z_v1",
				"wiki_2026-01-02T00:00:00.000Z_2026-01-03T00:00:00.000Z_v1_1", "wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if found.Skipped != 1 || fault.Find(found.SkippedWhy) == nil {
				t.Errorf("skipped %d, %v", found.Skipped, found.SkippedWhy)
			}
			if string(found.Rules["wiki"]) != `[{"type":"dropForever"}]` || len(found.Rules) != 2 || found.Coordinator == nil || found.Lookups == nil ||
				len(found.Compaction) != 1 || len(found.Offsets) != 1 || found.Offsets["wiki"] == nil || len(found.Supervisors) != 1 || found.Supervisors["wiki"] == nil {
				t.Errorf("found %+v", found)
			}
			if _, err := db.ExecContext(t.Context(), "DROP TABLE druid_dataSource"); err != nil {
				t.Fatal(err)
			}
			if found, err = ReadMetadata(t.Context(), address, DefaultPrefix); err != nil || len(found.Segments) != 4 || len(found.Offsets) != 0 {
				t.Errorf("without the table of offsets: %+v, %v", found, err)
			}
			for _, prefix := range []string{"nothing", "x; DROP TABLE druid_rules"} {
				if _, err := ReadMetadata(t.Context(), address, prefix); fault.Find(err) == nil {
					t.Errorf("prefix %q: %v", prefix, err)
				}
			}
		})
	}
}

func TestOtherStoresAreNamed(t *testing.T) {
	for address, want := range map[string]string{
		"jdbc:mysql://127.0.0.1:1/druid":       "can't be reached",
		"mysql://":                             "is not readable",
		"jdbc:derby://localhost:1527/druid":    "[derby] can only be read by Java",
		"/no/such/file":                        "There is no SQLite file",
		"postgresql://127.0.0.1:1/x?user=me":   "can't be reached",
		"postgres://%zz":                       "",
		"jdbc:postgresql://127.0.0.1:1/x?user": "",
	} {
		_, err := ReadMetadata(t.Context(), address, DefaultPrefix)
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, want) || strings.Contains(f.Message, address) && strings.Contains(address, "postgres") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

func TestFoldersAreRead(t *testing.T) {
	dir := t.TempDir()
	put := func(path string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const day = "/2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z/"
	put("wiki" + day + "v1/0/index.zip")
	put("wiki" + day + "v2/0/index.zip")
	put("wiki" + day + "v2/1/index/meta.smoosh")
	put("gap" + day + "v1/0/index.zip")
	put("gap" + day + "v1/2/index.zip")
	put("intermediate/x/index.zip")
	put("wiki/badly_named/v1/0/index.zip")
	found, err := ReadFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found.Segments {
		got = append(got, fmt.Sprintf("%s %s %d of %d", s.ID.DataSource, s.ID.Version, s.ID.Partition, s.Shard.CorePartitions()))
	}
	want := []string{"gap v1 0 of 0", "gap v1 2 of 0", "wiki v2 0 of 2", "wiki v2 1 of 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if found.Skipped != 2 {
		t.Errorf("skipped %d: %v", found.Skipped, found.SkippedWhy)
	}
	if _, err := ReadFolder(t.Context(), filepath.Join(dir, "none")); fault.Find(err) == nil {
		t.Errorf("no folder: %v", err)
	}
}
