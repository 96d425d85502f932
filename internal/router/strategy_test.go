package router

import (
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/native"
)

// usual are the settings of Druid, with two more tiers.
func usual() Options {
	return Options{
		Default: "service/broker", DefaultRule: "_default", Strategies: `[{"type":"timeBoundary"},{"type":"priority"}]`, Aliases: []string{"druid"},
		Tiers: `{"hot":"druid/broker-hot","warm":"service/broker-warm","_default_tier":"service/broker"}`,
	}
}

func TestStrategiesAndRulesChooseTheBrokers(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC).UnixMilli()
	rules := map[string]rule.List{}
	for name, text := range map[string]string{
		"_default": `[{"type":"loadForever","tieredReplicants":{"_default_tier":2}}]`,
		"wiki": `[{"type":"dropBeforeByPeriod","period":"P10Y"},{"type":"loadByPeriod","period":"P7D","tieredReplicants":{"warm":1,"hot":2}},
			{"type":"loadByPeriod","period":"P1Y","tieredReplicants":{"warm":1,"unknown":1}},{"type":"loadByPeriod","period":"P2Y","tieredReplicants":{"unknown":1}}]`,
	} {
		list, err := rule.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rules[name] = list
	}
	scan := func(table, intervals, context string) string {
		return `{"queryType":"scan","dataSource":` + table + `,"intervals":[` + intervals + `],"context":` + context + `}`
	}
	const recent, older, both, old, ancient = `"2026-03-09/P1D"`, `"2025-09-01/P1D"`, `"2026-03-09/P1D","2025-09-01/P1D"`, `"2024-09-01/P1D"`, `"2001-09-01/P1D"`
	change := func(f func(*Options)) Options { o := usual(); f(&o); return o }
	manual := change(func(o *Options) {
		o.Strategies = `[{"type":"manual","defaultManualBrokerService":"druid/broker-warm"}]`
	})
	unsure := change(func(o *Options) { o.Strategies = `[{"type":"manual"}]` })
	for name, tc := range map[string]struct {
		o           Options
		query, want string
	}{
		"the first tier that the rule loads on":     {usual(), scan(`"wiki"`, recent, "{}"), "service/broker-hot"},
		"of a later rule":                           {usual(), scan(`"wiki"`, older, "{}"), "service/broker-warm"},
		"of the latest rule of all intervals":       {usual(), scan(`"wiki"`, both, "{}"), "service/broker-warm"},
		"of a tier that has no Brokers":             {usual(), scan(`"wiki"`, old, "{}"), "service/broker"},
		"of the default rules":                      {usual(), scan(`"wiki"`, ancient, "{}"), "service/broker"},
		"of a datasource without rules":             {usual(), scan(`"logs"`, recent, "{}"), "service/broker"},
		"of the datasource below":                   {usual(), scan(`{"type":"query","query":`+scan(`"wiki"`, recent, "{}")+`}`, recent, "{}"), "service/broker-hot"},
		"of one that has none to scan":              {usual(), scan(`{"type":"inline","columnNames":["a"],"rows":[]}`, recent, "{}"), "service/broker"},
		"other default rules":                       {change(func(o *Options) { o.DefaultRule = "wiki" }), scan(`"logs"`, recent, "{}"), "service/broker-hot"},
		"timeBoundary":                              {usual(), `{"queryType":"timeBoundary","dataSource":"logs"}`, "service/broker-hot"},
		"timeBoundary without the strategy":         {unsure, `{"queryType":"timeBoundary","dataSource":"logs"}`, "service/broker"},
		"a high priority":                           {usual(), scan(`"wiki"`, recent, `{"priority":2}`), "service/broker"},
		"a low priority":                            {usual(), scan(`"wiki"`, recent, `{"priority":"-1"}`), "service/broker"},
		"a priority between":                        {usual(), scan(`"wiki"`, recent, `{"priority":1}`), "service/broker-hot"},
		"a priority between others":                 {change(func(o *Options) { o.Strategies = `[{"type":"priority","minPriority":-5,"maxPriority":5}]` }), scan(`"wiki"`, recent, `{"priority":-5}`), "service/broker-hot"},
		"a service by name":                         {manual, scan(`"wiki"`, recent, `{"brokerService":"service/broker-hot"}`), "service/broker-hot"},
		"a service by its other name":               {manual, scan(`"wiki"`, recent, `{"brokerService":"druid/broker-hot"}`), "service/broker-hot"},
		"a service that is unknown, with a default": {manual, scan(`"wiki"`, recent, `{"brokerService":"x"}`), "service/broker-warm"},
		"a service that is unknown, without one":    {unsure, scan(`"wiki"`, recent, `{"brokerService":"x"}`), "service/broker-hot"},
		"no tiers":                                  {change(func(o *Options) { o.Tiers = "{}" }), scan(`"wiki"`, recent, "{}"), "service/broker"},
	} {
		c, err := New(tc.o)
		if err != nil {
			t.Fatal(name, err)
		}
		q, err := native.Decode([]byte(tc.query))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := c.Native(q, rules, now); got != tc.want {
			t.Errorf("%s: %s instead of %s", name, got, tc.want)
		}
	}
}

func TestSQLGoesByStrategiesWhereThatIsSaid(t *testing.T) {
	o := usual()
	o.Strategies = `[{"type":"timeBoundary"},{"type":"manual"},{"type":"priority"}]`
	named := map[string]any{"brokerService": "druid/broker-hot"}
	for _, sql := range []bool{false, true} {
		o.SQL = sql
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "service/broker", true: "service/broker-hot"}[sql]
		if got := c.SQL(named); got != want || c.ChoosesSQL() != sql || !c.Chooses() {
			t.Errorf("%t: %s", sql, got)
		}
		if got := c.SQL(nil); got != "service/broker" {
			t.Errorf("%t: %s without a context", sql, got)
		}
	}
	o.Tiers = `{"a":"druid/broker","b":"service/broker"}`
	c, err := New(o)
	if err != nil || c.Chooses() || c.ChoosesSQL() || c.Default() != "service/broker" {
		t.Errorf("with one service there is something to choose: %v", err)
	}
}

func TestWrongSettingsOfARouterAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"service.router.tierToBrokerMap] is not an object of tiers": func(o *Options) { o.Tiers = `["a"]` },
		"a JSON number does not fit":                                func(o *Options) { o.Tiers = `{"a":1}` },
		"something behind":                                          func(o *Options) { o.Tiers = `{} {}` },
		"services: the data ends too early":                         func(o *Options) { o.Tiers = `{"a":"b"` },
		"is not a list of strategies":                               func(o *Options) { o.Strategies = `{}` },
		"Strategy [javascript]":                                     func(o *Options) { o.Strategies = `[{"type":"javascript","function":"x"}]` },
		"Strategy [] in [service.r":                                 func(o *Options) { o.Strategies = `[{}]` },
	} {
		o := usual()
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
