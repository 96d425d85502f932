package msq

import (
	"fmt"
	"testing"
	"time"
)

func TestScratchWiki(t *testing.T) {
	b := newBench(t)
	q := `REPLACE INTO wikiticker OVERWRITE ALL SELECT TIME_PARSE("time") AS __time, channel, cityName, comment, countryIsoCode, countryName, isAnonymous, isMinor, isNew, isRobot, isUnpatrolled, metroCode, namespace, page, regionIsoCode, regionName, "user", delta, added, deleted FROM TABLE(EXTERN('{"type":"local","files":["/work/shared/data/wikiticker-2015-09-12-sampled.json.gz"]}','{"type":"json"}')) EXTEND ("time" VARCHAR, channel VARCHAR, cityName VARCHAR, comment VARCHAR, countryIsoCode VARCHAR, countryName VARCHAR, isAnonymous VARCHAR, isMinor VARCHAR, isNew VARCHAR, isRobot VARCHAR, isUnpatrolled VARCHAR, metroCode BIGINT, namespace VARCHAR, page VARCHAR, regionIsoCode VARCHAR, regionName VARCHAR, "user" VARCHAR, delta BIGINT, added BIGINT, deleted BIGINT) PARTITIONED BY HOUR CLUSTERED BY channel`
	for range 3 {
		s := time.Now()
		c, out, err := runSQL(t, b, "q", q, map[string]any{"maxNumTasks": 2})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(out.Rows, len(out.Segments), time.Since(s))
		r, _ := c.Report()
		for _, s := range r.Stages {
			fmt.Println(s.Number, s.Duration, s.Partitions)
		}
		for _, cc := range r.Counters {
			fmt.Println(string(cc.Workers[0])[:300])
		}
	}
	fmt.Println(b.meta.used[0].Schema.Columns)
	s := time.Now()
	_, out, err := runSQL(t, b, "q2", `SELECT page, COUNT(*) AS c FROM wikiticker GROUP BY 1 ORDER BY 2 DESC LIMIT 3`, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(resultRows(t, out.Results), time.Since(s))
}
