package main

import (
	"fmt"
	"strings"
)

// queries are the 43 questions of ClickBench in its order, numbered from 0 as there. Where rows
// could tie at a LIMIT more keys make the order whole, so that answers can be compared. Limits that
// only make sense for 100 M rows (HAVING, OFFSET) shrink with the table.
func (h hits) queries() []query {
	var sums strings.Builder
	for i := range 90 {
		if i > 0 {
			fmt.Fprintf(&sums, ",SUM(ResolutionWidth+%d)", i)
		} else {
			sums.WriteString("SUM(ResolutionWidth)")
		}
	}
	user, referer, url := h.value("UserID", 40), h.value("RefererHash", 3), h.value("URLHash", 2)
	july := "EventDate>=15887 AND EventDate<=15917"
	site := "CounterID=62 AND " + july
	texts := []string{
		`SELECT COUNT(*) FROM hits`,
		`SELECT COUNT(*) FROM hits WHERE AdvEngineID<>0`,
		`SELECT SUM(AdvEngineID),COUNT(*),AVG(ResolutionWidth) FROM hits`,
		`SELECT AVG({double UserID}) FROM hits`,
		`SELECT COUNT(DISTINCT UserID) FROM hits`,
		`SELECT COUNT(DISTINCT SearchPhrase) FROM hits`,
		`SELECT MIN(EventDate),MAX(EventDate) FROM hits`,
		`SELECT AdvEngineID,COUNT(*) AS c FROM hits WHERE AdvEngineID<>0 GROUP BY AdvEngineID ORDER BY c DESC`,
		`SELECT RegionID,COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC,RegionID LIMIT 10`,
		`SELECT RegionID,SUM(AdvEngineID),COUNT(*) AS c,AVG(ResolutionWidth),COUNT(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY c DESC,RegionID LIMIT 10`,
		`SELECT MobilePhoneModel,COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel<>'' GROUP BY MobilePhoneModel ORDER BY u DESC,MobilePhoneModel LIMIT 10`,
		`SELECT MobilePhone,MobilePhoneModel,COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel<>'' GROUP BY MobilePhone,MobilePhoneModel ORDER BY u DESC,MobilePhone,MobilePhoneModel LIMIT 10`,
		`SELECT SearchPhrase,COUNT(*) AS c FROM hits WHERE SearchPhrase<>'' GROUP BY SearchPhrase ORDER BY c DESC,SearchPhrase LIMIT 10`,
		`SELECT SearchPhrase,COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase<>'' GROUP BY SearchPhrase ORDER BY u DESC,SearchPhrase LIMIT 10`,
		`SELECT SearchEngineID,SearchPhrase,COUNT(*) AS c FROM hits WHERE SearchPhrase<>'' GROUP BY SearchEngineID,SearchPhrase ORDER BY c DESC,SearchEngineID,SearchPhrase LIMIT 10`,
		`SELECT UserID,COUNT(*) AS c FROM hits GROUP BY UserID ORDER BY c DESC,UserID LIMIT 10`,
		`SELECT UserID,SearchPhrase,COUNT(*) AS c FROM hits GROUP BY UserID,SearchPhrase ORDER BY c DESC,UserID,SearchPhrase LIMIT 10`,
		`SELECT UserID,SearchPhrase,COUNT(*) FROM hits GROUP BY UserID,SearchPhrase LIMIT 10`,
		`SELECT UserID,{minute of} AS m,SearchPhrase,COUNT(*) AS c FROM hits GROUP BY UserID,{minute of},SearchPhrase ORDER BY c DESC,UserID,m,SearchPhrase LIMIT 10`,
		`SELECT UserID FROM hits WHERE UserID=` + user,
		`SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'`,
		`SELECT SearchPhrase,MIN(URL),COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase<>'' GROUP BY SearchPhrase ORDER BY c DESC,SearchPhrase LIMIT 10`,
		`SELECT SearchPhrase,MIN(URL),MIN(Title),COUNT(*) AS c,COUNT(DISTINCT UserID) FROM hits WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase<>'' GROUP BY SearchPhrase ORDER BY c DESC,SearchPhrase LIMIT 10`,
		`SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY __time,WatchID LIMIT 10`,
		`SELECT SearchPhrase FROM hits WHERE SearchPhrase<>'' ORDER BY __time,SearchPhrase LIMIT 10`,
		`SELECT SearchPhrase FROM hits WHERE SearchPhrase<>'' ORDER BY SearchPhrase LIMIT 10`,
		`SELECT SearchPhrase FROM hits WHERE SearchPhrase<>'' ORDER BY __time,SearchPhrase LIMIT 10`,
		`SELECT CounterID,AVG(LENGTH(URL)) AS l,COUNT(*) AS c FROM hits WHERE URL<>'' GROUP BY CounterID HAVING COUNT(*)>{100000} ORDER BY l DESC,CounterID LIMIT 25`,
		`SELECT {host of Referer} AS k,AVG(LENGTH(Referer)) AS l,COUNT(*) AS c,MIN(Referer) FROM hits WHERE Referer<>'' GROUP BY {host of Referer} HAVING COUNT(*)>{100000} ORDER BY l DESC,k LIMIT 25`,
		`SELECT ` + sums.String() + ` FROM hits`,
		`SELECT SearchEngineID,ClientIP,COUNT(*) AS c,SUM(IsRefresh),AVG(ResolutionWidth) FROM hits WHERE SearchPhrase<>'' GROUP BY SearchEngineID,ClientIP ORDER BY c DESC,SearchEngineID,ClientIP LIMIT 10`,
		`SELECT WatchID,ClientIP,COUNT(*) AS c,SUM(IsRefresh),AVG(ResolutionWidth) FROM hits WHERE SearchPhrase<>'' GROUP BY WatchID,ClientIP ORDER BY c DESC,WatchID,ClientIP LIMIT 10`,
		`SELECT WatchID,ClientIP,COUNT(*) AS c,SUM(IsRefresh),AVG(ResolutionWidth) FROM hits GROUP BY WatchID,ClientIP ORDER BY c DESC,WatchID,ClientIP LIMIT 10`,
		`SELECT URL,COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC,URL LIMIT 10`,
		`SELECT 1,URL,COUNT(*) AS c FROM hits GROUP BY 1,URL ORDER BY c DESC,URL LIMIT 10`,
		`SELECT ClientIP,ClientIP-1,ClientIP-2,ClientIP-3,COUNT(*) AS c FROM hits GROUP BY ClientIP,ClientIP-1,ClientIP-2,ClientIP-3 ORDER BY c DESC,ClientIP LIMIT 10`,
		`SELECT URL,COUNT(*) AS v FROM hits WHERE ` + site + ` AND DontCountHits=0 AND IsRefresh=0 AND URL<>'' GROUP BY URL ORDER BY v DESC,URL LIMIT 10`,
		`SELECT Title,COUNT(*) AS v FROM hits WHERE ` + site + ` AND DontCountHits=0 AND IsRefresh=0 AND Title<>'' GROUP BY Title ORDER BY v DESC,Title LIMIT 10`,
		`SELECT URL,COUNT(*) AS v FROM hits WHERE ` + site + ` AND IsRefresh=0 AND IsLink<>0 AND IsDownload=0 GROUP BY URL ORDER BY v DESC,URL LIMIT 10 OFFSET {1000}`,
		`SELECT TraficSourceID,SearchEngineID,AdvEngineID,CASE WHEN SearchEngineID=0 AND AdvEngineID=0 THEN Referer ELSE '' END AS src,URL AS dst,COUNT(*) AS v FROM hits WHERE ` + site +
			` AND IsRefresh=0 GROUP BY TraficSourceID,SearchEngineID,AdvEngineID,CASE WHEN SearchEngineID=0 AND AdvEngineID=0 THEN Referer ELSE '' END,URL ORDER BY v DESC,src,dst,1,2,3 LIMIT 10 OFFSET {1000}`,
		`SELECT URLHash,EventDate,COUNT(*) AS v FROM hits WHERE ` + site + ` AND IsRefresh=0 AND TraficSourceID IN (-1,6) AND RefererHash=` + referer +
			` GROUP BY URLHash,EventDate ORDER BY v DESC,URLHash,EventDate LIMIT 10 OFFSET {100}`,
		`SELECT WindowClientWidth,WindowClientHeight,COUNT(*) AS v FROM hits WHERE ` + site + ` AND IsRefresh=0 AND DontCountHits=0 AND URLHash=` + url +
			` GROUP BY WindowClientWidth,WindowClientHeight ORDER BY v DESC,1,2 LIMIT 10 OFFSET {10000}`,
		`SELECT {minute} AS m,COUNT(*) AS v FROM hits WHERE CounterID=62 AND EventDate>=15900 AND EventDate<=15901 AND IsRefresh=0 AND DontCountHits=0 GROUP BY 1 ORDER BY 1 LIMIT 10 OFFSET {1000}`,
	}
	var list []query
	for i, text := range texts {
		q := everywhere(fmt.Sprintf("C%d", i), h.scaled(text))
		for d, sql := range q.sql {
			q.sql[d] = hitsDialect(d, sql)
		}
		q.anyRows = i == 17 || i == 23 // the latter names no columns, and each engine has its own order of them
		list = append(list, q)
	}
	return list
}

// scaled fills in the limits that go with the number of rows.
func (h hits) scaled(sql string) string {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		sql = strings.ReplaceAll(sql, fmt.Sprintf("{%d}", n), fmt.Sprint(n*h.rows/hitsRows))
	}
	return sql
}

// value is the value of a column in a row, as text.
func (h hits) value(name string, row int) string {
	for i, c := range hitsColumns {
		if c.name != name {
			continue
		}
		seed := mix(uint64(i) + 1)
		for k, other := range hitsColumns {
			if other.name == c.like {
				seed = mix(uint64(k) + 1)
			}
		}
		return fmt.Sprint(c.integer(c.pick(row, h.rows, seed)))
	}
	panic("there is no column " + name)
}

const minuteMillis = 60_000

// hitsDialect fills in what the engines say differently.
func hitsDialect(d dialect, sql string) string {
	const host = `'^https?://(?:www\.)?([^/]+)/.*$'`
	words := map[dialect][3]string{
		hengeSQL: {"CAST(UserID AS DOUBLE)", "EXTRACT(MINUTE FROM __time)", `REGEXP_REPLACE(Referer,` + host + `,'$1')`},
		duckSQL:  {"UserID::DOUBLE", "__time//60000%60", `regexp_replace(Referer,` + host + `,'\1')`},
		clickSQL: {"toFloat64(UserID)", "intDiv(__time,60000)%60", `replaceRegexpOne(Referer,` + strings.ReplaceAll(host, `\.`, `\\.`) + `,'\\1')`},
	}[d]
	return strings.NewReplacer("{double UserID}", words[0], "{minute of}", words[1], "{host of Referer}", words[2],
		"{minute}", bucketSQL(d, "MINUTE", minuteMillis)).Replace(sql)
}
