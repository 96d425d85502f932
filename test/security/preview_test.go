package security

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

const previewPath = "/service-ext/access/preview"

// A preview shows who may read permissions what others see, and rows only if they may read them.
func TestAPreviewShowsWhatSomebodySees(t *testing.T) {
	who := server.People{"auditor": {"READ CONFIG security", "READ DATASOURCE copy"}}
	maps.Copy(who, sellers)
	check := func(t *testing.T, c *server.Client) {
		orders(t, c)
		of := func(rest string) string { return `{"user":"north",` + rest + `}` }
		const orders = `"dataSource":"orders"`
		run(t, c, []exchange{
			{"admin", "POST", previewPath, of(orders), 200, `"name":"note","type":"VARCHAR","shown":"hidden"`, `"sample"`},
			{"admin", "POST", previewPath, of(orders), 200, `"rows":[{"role":"north","condition":"region = 'north'"}]`, ""},
			{"admin", "POST", previewPath, of(orders), 200, `"shown":"masked","mask":"'*' || SUBSTRING(card, 3)"`, ""},
			{"admin", "POST", previewPath, of(orders + `,"sample":2`), 200, `"card":"*34"`, "hidden one"},
			{"admin", "POST", previewPath, of(`"query":"SELECT COUNT(*) AS c FROM orders","sample":9`), 200, `"sample":[{"c":4}]`, ""},
			{"admin", "POST", previewPath, of(`"query":"SELECT n FROM orders WHERE n > ? ORDER BY n","sample":1,` +
				`"parameters":[{"type":"BIGINT","value":2}]`), 200, `"sample":[{"n":3}]`, ""},
			{"admin", "POST", previewPath, of(`"dataSource":"north","sample":1`), 200, `"allowed":false`, `"sample"`},
			{"admin", "POST", previewPath, `{"user":"both","dataSource":"orders","sample":100}`, 200, `hidden two`, `"shown":"hidden"`},
			{"admin", "POST", previewPath, `{"user":"stranger",` + orders + `}`, 200, `"allowed":false`, "region"},
			{"admin", "POST", previewPath, `{"roles":["nothing"],` + orders + `}`, 200, `"roles":["nothing"],"allowed":false`, ""},
			{"admin", "POST", previewPath, `{"user":"broken",` + orders + `}`, 403, "role [broken]", "allowed"},
			{"admin", "POST", previewPath, of(`"query":"SELECT note FROM orders"`), 400, "note", "hidden"},
			{"admin", "POST", previewPath, of(`"query":"EXPLAIN PLAN FOR SELECT 1"`), 400, "without EXPLAIN", ""},
			{"admin", "POST", previewPath, of(`"query":"INSERT INTO copy SELECT * FROM orders PARTITIONED BY ALL"`), 400, "", "allowed"},
			{"auditor", "POST", previewPath, of(orders), 200, `"allowed":true`, ""},
			{"auditor", "POST", previewPath, of(orders + `,"sample":1`), 403, "Unauthorized", "*34"},
			{"north", "POST", previewPath, of(orders), 403, "Unauthorized", "region"},
			{"", "POST", previewPath, of(orders), 401, "", "region"},
			{"admin", "POST", previewPath, `{` + orders + `}`, 400, "[user] or [roles]", ""},
			{"admin", "POST", previewPath, `{"user":"north","roles":[],` + orders + `}`, 400, "[user] or [roles]", ""},
			{"admin", "POST", previewPath, `{"user":"north"}`, 400, "[dataSource] or [query]", ""},
			{"admin", "POST", previewPath, `{"user":"",` + orders + `}`, 400, "[user] is empty", ""},
			{"admin", "POST", previewPath, of(`"dataSource":""`), 400, "[dataSource] is empty", ""},
			{"admin", "POST", previewPath, of(orders + `,"sample":101`), 400, "[sample]", ""},
			{"admin", "POST", previewPath, of(orders + `,"sample":-1`), 400, "[sample]", ""},
			{"admin", "POST", previewPath, of(orders + `,"limit":1`), 400, "limit", ""},
			{"admin", "POST", previewPath, of(`"dataSource":"none"`), 400, "none", ""},
			{"admin", "POST", previewPath, of(`"dataSource":"x\" UNION ALL SELECT * FROM \"orders"`), 400, "not found", ""},
			{"admin", "POST", previewPath, `[]`, 400, "can't be read", ""},
			{"admin", "GET", previewPath, "", 405, "", ""},
		})
	}
	t.Run("one process", func(t *testing.T) {
		s := server.Start(t, server.Options{People: who})
		check(t, &s.Client)
	})
	t.Run("cluster", func(t *testing.T) {
		c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, People: who})
		check(t, &c.Client)
	})
	open := server.Start(t, server.Options{})
	run(t, &open.Client, []exchange{{"", "POST", previewPath, `{"user":"ann","dataSource":"x"}`, 400, "without security", ""}})
}

// The members of an answer are there for a program, in their order.
func TestAPreviewIsReadByPrograms(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers})
	c := &s.Client
	orders(t, c)
	var out struct {
		Needs []struct {
			Resource struct{ Name, Type string }
			Action   string
			Allowed  bool
			Rules    []struct{ Role, Rows string }
		}
		Columns []struct{ Name, Type string }
	}
	body := json.RawMessage(`{"user":"north","query":"SELECT a.n FROM orders a JOIN north b ON a.n = b.n"}`)
	if err := c.As("admin").Call(t.Context(), "POST", previewPath, body, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Needs) != 2 || out.Needs[0].Resource.Name != "north" || out.Needs[0].Allowed || out.Needs[1].Resource.Name != "orders" ||
		!out.Needs[1].Allowed || len(out.Needs[1].Rules) != 1 || out.Needs[1].Rules[0].Rows != "region = 'north'" || len(out.Columns) != 0 {
		t.Errorf("got %+v", out)
	}
}
