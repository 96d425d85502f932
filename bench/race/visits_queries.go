package main

import (
	"fmt"
	"strings"
)

// queries of visits are shapes in which others once came near: computed keys, conditions and
// arguments, wide groups, and dimensions of a few values.
func (v visits) queries() []query {
	var arms strings.Builder
	for i := range 100 {
		fmt.Fprintf(&arms, " WHEN '%s' THEN %d", visitValue("city", uint64(i)), i*7%31)
	}
	var numbers strings.Builder
	for i := range 100 {
		fmt.Fprintf(&numbers, " WHEN %d THEN %d", i, i*7%31)
	}
	few := fmt.Sprintf("('%s','%s','%s')", visitValue("country", 1), visitValue("country", 4), visitValue("country", 9))
	const of = ` FROM visits `
	return []query{
		everywhere("X1 key FLOOR(delay / 10.0)", `SELECT FLOOR(delay / 10.0) AS k, COUNT(*)`+of+`GROUP BY 1 ORDER BY 1`),
		everywhere("X2 key CASE of ranges",
			`SELECT CASE WHEN delay < 0 THEN 0 WHEN delay < 15 THEN 1 WHEN delay < 60 THEN 2 ELSE 3 END AS k, COUNT(*), `+
				`SUM(mm)`+of+`GROUP BY 1 ORDER BY 1`),
		everywhere("X3 key CASE of 100 numbers",
			`SELECT CASE ms`+numbers.String()+` ELSE 99 END AS k, COUNT(*), SUM(mm)`+of+`GROUP BY 1 ORDER BY 1`),
		everywhere("X4 key CASE of 100 texts",
			`SELECT CASE city`+arms.String()+` ELSE 99 END AS k, COUNT(*), SUM(mm)`+of+`GROUP BY 1 ORDER BY 1`),
		everywhere("X5 key CAST of an integer", `SELECT CAST(delay AS VARCHAR) AS k, COUNT(*)`+of+`GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`),
		everywhere("X6 key of two expressions",
			`SELECT FLOOR(delay / 60.0) AS h, SUBSTR(country, 9, 2) AS c, COUNT(*), AVG(mm)`+of+`GROUP BY 1, 2 ORDER BY 1, 2`),
		everywhere("X7 key ROUND of a double", `SELECT ROUND(price / 50) AS k, COUNT(*)`+of+`GROUP BY 1 ORDER BY 1`),
		everywhere("X8 hour of day", `SELECT {hourOfDay} AS k, COUNT(*), SUM(mm)`+of+`GROUP BY 1 ORDER BY 1`),
		everywhere("X9 filter of an expression", `SELECT COUNT(*), SUM(mm)`+of+`WHERE FLOOR(delay / 10.0) IN (3, 5, 9)`),
		everywhere("X10 filter MOD", `SELECT COUNT(*), SUM(mm)`+of+`WHERE MOD(delay, 7) = 3`),
		everywhere("X11 SUM of an expression of one column", `SELECT SUM(ABS(delay) / 10.0), MAX(FLOOR(SQRT(ABS(delay))))`+of),
		everywhere("X12 SUM(CASE) of one column",
			`SELECT SUM(CASE WHEN delay > 15 THEN delay ELSE 0 END), SUM(CASE WHEN delay > 15 THEN 1 ELSE 0 END)`+of),
		everywhere("P1 SUM(ms*mm-ml) by country", `SELECT country, SUM(ms*mm-ml)`+of+`GROUP BY country ORDER BY country`),
		everywhere("P2 SUM(CASE) by country",
			`SELECT country, SUM(CASE WHEN ms > 50 THEN mm ELSE 0 END)`+of+`GROUP BY country ORDER BY country`),
		everywhere("P3 SUM(ms*mm)", `SELECT SUM(ms*mm), SUM(mm-ms), SUM(ml+1)`+of),
		everywhere("P4 SUM(price*(1-score))", `SELECT SUM(price*(1-score/100)), SUM(price*mm)`+of),
		everywhere("R1 range of 1 %", `SELECT SUM(mm), COUNT(*)`+of+`WHERE ml BETWEEN 500000000000 AND 510000000000`),
		everywhere("R2 range of half", `SELECT SUM(mm), COUNT(*)`+of+`WHERE ml < 500000000000`),
		everywhere("R3 range of a narrow column", `SELECT SUM(mm), COUNT(*)`+of+`WHERE ms BETWEEN 20 AND 45 AND delay > 5`),
		everywhere("R4 MIN, MAX and COUNT", `SELECT MIN(mm), MAX(ml), COUNT(*), MIN(price), MAX(delay)`+of),
		everywhere("G1 day, city, campaign",
			`SELECT {day} AS b, city, campaign, COUNT(*), SUM(mm) AS s`+of+`GROUP BY 1, 2, 3 ORDER BY s DESC, 1, 2, 3 LIMIT 100`),
		everywhere("G2 country, city with IN",
			`SELECT country, city, COUNT(*), SUM(ml), MAX(mm)`+of+`WHERE country IN `+few+` GROUP BY country, city ORDER BY `+
				`country, city`),
		everywhere("G3 country, city", `SELECT country, city, COUNT(*), SUM(ml), MAX(mm)`+of+`GROUP BY country, city ORDER BY country, city`),
		everywhere("G4 AVG of two doubles by city", `SELECT city, AVG(price), AVG(score)`+of+`GROUP BY city ORDER BY city`),
		everywhere("G5 top 10 of users by SUM", `SELECT "user", SUM(mm) AS s`+of+`GROUP BY "user" ORDER BY s DESC, "user" LIMIT 10`),
		everywhere("G6 page, platform", `SELECT page, platform, COUNT(*) AS c`+of+`GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 20`),
	}
}
