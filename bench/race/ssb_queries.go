package main

import "strings"

// ssbQueries are the thirteen queries of the specification. Over the flat table they name no joins;
// otherwise each names the dimensions it needs, in the order of the joins.
func ssbQueries(flat bool) []query {
	joins := map[string]string{
		"d": " JOIN dates ON lo_orderdate=d_datekey", "c": " JOIN customer ON lo_custkey=c_custkey",
		"s": " JOIN supplier ON lo_suppkey=s_suppkey", "p": " JOIN part ON lo_partkey=p_partkey",
	}
	var list []query
	for _, q := range ssbStatements {
		from, name := "ssb_flat", "SSB flat "+q.number
		if !flat {
			from, name = "lineorder", "SSB star "+q.number
			for _, d := range strings.Split(q.dimensions, "") {
				from += joins[d]
			}
		}
		list = append(list, everywhere(name, strings.Replace(q.sql, "{from}", from, 1)))
	}
	return list
}

const (
	ssbProfit = `sum(lo_revenue-lo_supplycost) AS profit FROM {from} WHERE `
	ssbCities = `('UNITED KI1','UNITED KI5')`
)

var ssbStatements = []struct{ number, dimensions, sql string }{
	{"1.1", "d", `SELECT sum(lo_extendedprice*lo_discount) AS revenue FROM {from} WHERE d_year=1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity<25`},
	{"1.2", "d", `SELECT sum(lo_extendedprice*lo_discount) AS revenue FROM {from} WHERE d_yearmonthnum=199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35`},
	{"1.3", "d", `SELECT sum(lo_extendedprice*lo_discount) AS revenue FROM {from} WHERE d_weeknuminyear=6 AND d_year=1994 AND lo_discount BETWEEN 5 AND 7 AND lo_quantity BETWEEN 26 AND 35`},
	{"2.1", "dps", `SELECT sum(lo_revenue),d_year,p_brand1 FROM {from} WHERE p_category='MFGR#12' AND s_region='AMERICA' GROUP BY d_year,p_brand1 ORDER BY d_year,p_brand1`},
	{"2.2", "dps", `SELECT sum(lo_revenue),d_year,p_brand1 FROM {from} WHERE p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region='ASIA' GROUP BY d_year,p_brand1 ORDER BY d_year,p_brand1`},
	{"2.3", "dps", `SELECT sum(lo_revenue),d_year,p_brand1 FROM {from} WHERE p_brand1='MFGR#2221' AND s_region='EUROPE' GROUP BY d_year,p_brand1 ORDER BY d_year,p_brand1`},
	{"3.1", "csd", `SELECT c_nation,s_nation,d_year,sum(lo_revenue) AS revenue FROM {from} WHERE c_region='ASIA' AND s_region='ASIA' AND d_year>=1992 AND d_year<=1997 GROUP BY c_nation,s_nation,d_year ORDER BY d_year,revenue DESC`},
	{"3.2", "csd", `SELECT c_city,s_city,d_year,sum(lo_revenue) AS revenue FROM {from} WHERE c_nation='UNITED STATES' AND s_nation='UNITED STATES' AND d_year>=1992 AND d_year<=1997 GROUP BY c_city,s_city,d_year ORDER BY d_year,revenue DESC`},
	{"3.3", "csd", `SELECT c_city,s_city,d_year,sum(lo_revenue) AS revenue FROM {from} WHERE c_city IN ` + ssbCities + ` AND s_city IN ` + ssbCities + ` AND d_year>=1992 AND d_year<=1997 GROUP BY c_city,s_city,d_year ORDER BY d_year,revenue DESC`},
	{"3.4", "csd", `SELECT c_city,s_city,d_year,sum(lo_revenue) AS revenue FROM {from} WHERE c_city IN ` + ssbCities + ` AND s_city IN ` + ssbCities + ` AND d_yearmonth='Dec1997' GROUP BY c_city,s_city,d_year ORDER BY d_year,revenue DESC`},
	{"4.1", "dcsp", `SELECT d_year,c_nation,` + ssbProfit + `c_region='AMERICA' AND s_region='AMERICA' AND p_mfgr IN ('MFGR#1','MFGR#2') GROUP BY d_year,c_nation ORDER BY d_year,c_nation`},
	{"4.2", "dcsp", `SELECT d_year,s_nation,p_category,` + ssbProfit + `c_region='AMERICA' AND s_region='AMERICA' AND d_year IN (1997,1998) AND p_mfgr IN ('MFGR#1','MFGR#2') GROUP BY d_year,s_nation,p_category ORDER BY d_year,s_nation,p_category`},
	{"4.3", "dcsp", `SELECT d_year,s_city,p_brand1,` + ssbProfit + `c_region='AMERICA' AND s_nation='UNITED STATES' AND d_year IN (1997,1998) AND p_category='MFGR#14' GROUP BY d_year,s_city,p_brand1 ORDER BY d_year,s_city,p_brand1`},
}
