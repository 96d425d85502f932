package main

import (
	"fmt"
	"strings"
)

// query is one question in the words of each engine; ask fills in what differs.
type query struct {
	name string
	sql  map[dialect]string
	// near allows answers to differ by this share of the value (0: the usual tolerance of sums of
	// doubles).
	near float64
	// anyRows says that the query leaves open which rows it gives: only their number is compared.
	anyRows bool
}

type dialect string

const (
	hengeSQL  dialect = "henge"
	duckSQL   dialect = "duckdb"
	clickSQL  dialect = "chdb"
	eventsTbl         = "events"
)

// everywhere is a query that all three read, but for the name of the time column's buckets.
//
// {hour} and {day} stand for the start of the hour and day, {from..to} ranges are given by time().
func everywhere(name, sql string) query {
	q := query{name: name, sql: map[dialect]string{}}
	for _, d := range []dialect{hengeSQL, duckSQL, clickSQL} {
		q.sql[d] = strings.NewReplacer(
			"{hour}", bucketSQL(d, "HOUR", hourMillis), "{day}", bucketSQL(d, "DAY", dayMillis),
			"{hourOfDay}", map[dialect]string{
				hengeSQL: "EXTRACT(HOUR FROM __time)", duckSQL: "__time//3600000%24", clickSQL: "intDiv(__time,3600000)%24",
			}[d],
			"{approx}", map[dialect]string{hengeSQL: "APPROX_COUNT_DISTINCT", duckSQL: "approx_count_distinct", clickSQL: "uniq"}[d],
		).Replace(sql)
	}
	return q
}

func bucketSQL(d dialect, unit string, millis int64) string {
	switch d {
	case hengeSQL:
		return "FLOOR(__time TO " + unit + ")"
	case duckSQL:
		return fmt.Sprintf("__time//%d*%d", millis, millis)
	}
	return fmt.Sprintf("intDiv(__time,%d)*%d", millis, millis)
}

// timeBetween is the condition that the time lies in [from, to), milliseconds.
func (q query) timeBetween(from, to int64) query {
	for d, sql := range q.sql {
		condition := fmt.Sprintf("__time>=%d AND __time<%d", from, to)
		if d == hengeSQL {
			condition = fmt.Sprintf("__time>=MILLIS_TO_TIMESTAMP(%d) AND __time<MILLIS_TO_TIMESTAMP(%d)", from, to)
		}
		q.sql[d] = strings.ReplaceAll(sql, "{time}", condition)
	}
	return q
}

// nearEstimates is how far two estimates of a count may lie apart. Each engine's has a standard
// error of a little over 2 %, so that the difference of two has one of 3.3 %; seven groups are
// compared.
const nearEstimates = 0.13

func (q query) within(share float64) query {
	q.near = share
	return q
}

// queries are the questions of the experiment that shaped the engine.
func (e *events) queries() []query {
	user := e.dicts[5][len(e.dicts[5])*2/5]
	country, regions := e.dicts[2][17], e.dicts[1]
	in := "('" + strings.Join([]string{regions[2], regions[9], regions[20]}, "','") + "')"
	four := fmt.Sprintf("d7='ios' AND d25='%s' AND d250='%s' AND d5k='%s'", regions[3], e.dicts[2][5], e.dicts[3][40])
	return []query{
		everywhere("Q1 count", `SELECT count(*) FROM events`),
		everywhere("Q2 sum of 3 metrics", `SELECT sum(ms),sum(mm),sum(ml) FROM events`),
		everywhere("Q3 hourly, one week", `SELECT {hour} AS b,sum(mm),sum(ml),count(*) FROM events WHERE {time} GROUP BY 1 ORDER BY 1`).
			timeBetween(eventsStart+8*dayMillis, eventsStart+15*dayMillis),
		everywhere("Q4 hourly, d250 = x", `SELECT {hour} AS b,sum(mm),count(*) FROM events WHERE d250='`+country+`' GROUP BY 1 ORDER BY 1`),
		everywhere("Q5 top 10 of d5k by sum", `SELECT d5k,sum(mm) AS s FROM events GROUP BY d5k ORDER BY s DESC,d5k LIMIT 10`),
		everywhere("Q6 top 10 of d200k by count", `SELECT d200k,count(*) AS s FROM events GROUP BY d200k ORDER BY s DESC,d200k LIMIT 10`),
		everywhere("Q6b top 10 of d200k by sum", `SELECT d200k,sum(mm) AS s FROM events GROUP BY d200k ORDER BY s DESC,d200k LIMIT 10`),
		everywhere("Q7 d25 x d250, IN 3, 3 aggregates", `SELECT d25,d250,count(*),sum(ml),max(mm) FROM events WHERE d25 IN `+in+` GROUP BY d25,d250 ORDER BY d25,d250`),
		everywhere("Q7b d7 x d25, 3 aggregates", `SELECT d7,d25,count(*),sum(ml),min(mm) FROM events GROUP BY d7,d25 ORDER BY d7,d25`),
		everywhere("Q8 d250 x d5k x day, top 100", `SELECT {day} AS b,d250,d5k,sum(mm) AS s,count(*) FROM events GROUP BY 1,2,3 ORDER BY s DESC,b,d250,d5k LIMIT 100`),
		everywhere("Q9 distinct users, exact", `SELECT count(DISTINCT "user") FROM events`),
		everywhere("Q9b the same, d7 = x", `SELECT count(DISTINCT "user") FROM events WHERE d7='ios'`),
		everywhere("Q10 distinct users by d7, approximate", `SELECT d7,{approx}("user") FROM events GROUP BY d7 ORDER BY d7`).within(nearEstimates),
		everywhere("Q11 LIKE, rare, by d25", `SELECT d25,count(*),sum(mm) FROM events WHERE url LIKE '%xyz%' GROUP BY d25 ORDER BY d25`),
		everywhere("Q11b LIKE, broad, by d25", `SELECT d25,count(*),sum(mm) FROM events WHERE url LIKE '%/checkout/%' GROUP BY d25 ORDER BY d25`),
		everywhere("Q12 range of 1 %, sum", `SELECT sum(mm),count(*) FROM events WHERE ml BETWEEN 500000000000 AND 510000000000`),
		everywhere("Q13 AND of 4 dimensions", `SELECT count(*),coalesce(sum(ml),0) FROM events WHERE `+four),
		everywhere("Q14 top 10 of users by sum", `SELECT "user",sum(mm) AS s FROM events GROUP BY "user" ORDER BY s DESC,"user" LIMIT 10`),
		everywhere("Q15 rows of one user", `SELECT __time,d7,d25,d250,d5k,d200k,"user",url,ms,mm,ml,f1,f2 FROM events WHERE "user"='`+user+`' ORDER BY __time LIMIT 100`),
		everywhere("Q16 expression and CASE by d25", `SELECT d25,sum(ms*mm-ml),sum(CASE WHEN ms>50 THEN mm ELSE 0 END) FROM events GROUP BY d25 ORDER BY d25`),
		everywhere("Q17 doubles by d250", `SELECT d250,sum(f1),sum(f2),count(*) FROM events GROUP BY d250 ORDER BY d250`),
		everywhere("Q18 sum of doubles", `SELECT sum(f1),sum(f2) FROM events`),
	}
}

// smallQueries are selective questions as a dashboard asks them: one country, one day.
func (e *events) smallQueries() []query {
	var list []query
	for i := range 64 {
		from := eventsStart + int64(i%28)*dayMillis
		list = append(list, everywhere(fmt.Sprintf("small %d", i),
			`SELECT d25,count(*),sum(mm) FROM events WHERE d250='`+e.dicts[2][10+i]+`' AND {time} GROUP BY d25 ORDER BY d25`).
			timeBetween(from, from+dayMillis))
	}
	return list
}

// heavyQuery keeps an engine busy: all rows by a key that nearly each row has for itself.
func (e *events) heavyQuery() query {
	return everywhere("heavy", `SELECT "user",d5k,sum(mm) AS s,count(*) FROM events GROUP BY "user",d5k ORDER BY s DESC,"user",d5k LIMIT 10`)
}
