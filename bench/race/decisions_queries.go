package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// decisionsQueries are the twenty-two questions of TPC-H over the schema of decisions, with the
// parameters that the specification gives for validation, or such as leave about as many rows of
// this data. Dates of orders and items are the times of their rows: {table>=1994-01-01} stands for
// a comparison of them with a date, {year table} for their year.
func decisionsQueries() []query {
	var list []query
	for i, sql := range decisionsStatements {
		q := query{name: fmt.Sprintf("Decision %d", i+1), sql: map[dialect]string{}}
		for _, d := range []dialect{hengeSQL, duckSQL, clickSQL} {
			q.sql[d] = yearOf.ReplaceAllString(dateCondition.ReplaceAllStringFunc(sql, func(c string) string { return dateSQL(d, c) }), yearSQL[d])
		}
		q.sql[clickSQL] += " SETTINGS join_use_nulls=1" // else rows without a partner have zeros
		list = append(list, q)
	}
	return list
}

var (
	dateCondition = regexp.MustCompile(`\{(\w+)([<>]=?)(\d{4}-\d\d-\d\d)\}`)
	yearOf        = regexp.MustCompile(`\{year (\w+)\}`)
	yearSQL       = map[dialect]string{
		hengeSQL: "EXTRACT(YEAR FROM $1.__time)",
		duckSQL:  "year(epoch_ms($1.__time))",
		clickSQL: "toYear(fromUnixTimestamp64Milli($1.__time, 'UTC'))",
	}
)

func dateSQL(d dialect, condition string) string {
	m := dateCondition.FindStringSubmatch(condition)
	if d == hengeSQL {
		return m[1] + ".__time" + m[2] + "TIMESTAMP '" + m[3] + "'"
	}
	day, err := time.Parse(time.DateOnly, m[3])
	if err != nil {
		panic(err) // the statements are constants, which a test goes through
	}
	return m[1] + ".__time" + m[2] + strconv.FormatInt(day.UnixMilli(), 10)
}

var decisionsStatements = []string{
	`SELECT l_returnflag,l_linestatus,sum(l_quantity) AS q,sum(l_extendedprice) AS p,sum(l_extendedprice*(1-l_discount)) AS d,sum(l_extendedprice*(1-l_discount)*(1+l_tax)) AS c,avg(l_quantity) AS aq,avg(l_extendedprice) AS ap,avg(l_discount) AS ad,count(*) AS n FROM items WHERE {items<1998-09-03} GROUP BY l_returnflag,l_linestatus ORDER BY l_returnflag,l_linestatus`,
	`SELECT s_acctbal,s_name,n_name,p_partkey FROM parts,suppliers,partsupp,nations,regions WHERE p_partkey=ps_partkey AND s_suppkey=ps_suppkey AND p_size=15 AND p_type LIKE '%BRASS' AND s_nationkey=n_nationkey AND n_regionkey=r_regionkey AND r_name='EUROPE' AND ps_supplycost=(SELECT min(ps_supplycost) FROM partsupp,suppliers,nations,regions WHERE p_partkey=ps_partkey AND s_suppkey=ps_suppkey AND s_nationkey=n_nationkey AND n_regionkey=r_regionkey AND r_name='EUROPE') ORDER BY s_acctbal DESC,n_name,s_name,p_partkey LIMIT 100`,
	`SELECT l_orderkey,sum(l_extendedprice*(1-l_discount)) AS revenue,orders.__time AS placed FROM customers,orders,items WHERE c_mktsegment='BUILDING' AND c_custkey=o_custkey AND l_orderkey=o_orderkey AND {orders<1995-03-15} AND {items>=1995-03-16} GROUP BY l_orderkey,orders.__time ORDER BY revenue DESC,placed LIMIT 10`,
	`SELECT o_orderpriority,count(*) AS n FROM orders WHERE {orders>=1993-07-01} AND {orders<1993-10-01} AND EXISTS (SELECT 1 FROM items WHERE l_orderkey=o_orderkey AND l_commitdate<l_receiptdate) GROUP BY o_orderpriority ORDER BY o_orderpriority`,
	`SELECT n_name,sum(l_extendedprice*(1-l_discount)) AS revenue FROM customers,orders,items,suppliers,nations,regions WHERE c_custkey=o_custkey AND l_orderkey=o_orderkey AND l_suppkey=s_suppkey AND c_nationkey=s_nationkey AND s_nationkey=n_nationkey AND n_regionkey=r_regionkey AND r_name='ASIA' AND {orders>=1994-01-01} AND {orders<1995-01-01} GROUP BY n_name ORDER BY revenue DESC`,
	`SELECT sum(l_extendedprice*l_discount) AS revenue FROM items WHERE {items>=1994-01-01} AND {items<1995-01-01} AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity<24`,
	`SELECT sn,cn,y,sum(v) AS revenue FROM (SELECT n1.n_name AS sn,n2.n_name AS cn,{year items} AS y,l_extendedprice*(1-l_discount) AS v FROM suppliers,items,orders,customers,nations n1,nations n2 WHERE s_suppkey=l_suppkey AND o_orderkey=l_orderkey AND c_custkey=o_custkey AND s_nationkey=n1.n_nationkey AND c_nationkey=n2.n_nationkey AND ((n1.n_name='FRANCE' AND n2.n_name='GERMANY') OR (n1.n_name='GERMANY' AND n2.n_name='FRANCE')) AND {items>=1995-01-01} AND {items<1997-01-01}) AS shipping GROUP BY sn,cn,y ORDER BY sn,cn,y`,
	`SELECT y,sum(CASE WHEN nation='BRAZIL' THEN v ELSE 0 END)/sum(v) AS share FROM (SELECT {year orders} AS y,l_extendedprice*(1-l_discount) AS v,n2.n_name AS nation FROM parts,suppliers,items,orders,customers,nations n1,nations n2,regions WHERE p_partkey=l_partkey AND s_suppkey=l_suppkey AND l_orderkey=o_orderkey AND o_custkey=c_custkey AND c_nationkey=n1.n_nationkey AND n1.n_regionkey=r_regionkey AND r_name='AMERICA' AND s_nationkey=n2.n_nationkey AND {orders>=1995-01-01} AND {orders<1997-01-01} AND p_type='ECONOMY ANODIZED STEEL') AS sold GROUP BY y ORDER BY y`,
	`SELECT nation,y,sum(amount) AS profit FROM (SELECT n_name AS nation,{year orders} AS y,l_extendedprice*(1-l_discount)-ps_supplycost*l_quantity AS amount FROM parts,suppliers,items,partsupp,orders,nations WHERE s_suppkey=l_suppkey AND ps_suppkey=l_suppkey AND ps_partkey=l_partkey AND p_partkey=l_partkey AND o_orderkey=l_orderkey AND s_nationkey=n_nationkey AND p_name LIKE '%green%') AS profits GROUP BY nation,y ORDER BY nation,y DESC`,
	`SELECT c_custkey,c_name,sum(l_extendedprice*(1-l_discount)) AS revenue,c_acctbal,n_name,c_phone FROM customers,orders,items,nations WHERE c_custkey=o_custkey AND l_orderkey=o_orderkey AND {orders>=1993-10-01} AND {orders<1994-01-01} AND l_returnflag='R' AND c_nationkey=n_nationkey GROUP BY c_custkey,c_name,c_acctbal,c_phone,n_name ORDER BY revenue DESC LIMIT 20`,
	`SELECT ps_partkey,sum(ps_supplycost*ps_availqty) AS v FROM partsupp,suppliers,nations WHERE ps_suppkey=s_suppkey AND s_nationkey=n_nationkey AND n_name='GERMANY' GROUP BY ps_partkey HAVING sum(ps_supplycost*ps_availqty)>(SELECT sum(ps_supplycost*ps_availqty)*0.0003 FROM partsupp,suppliers,nations WHERE ps_suppkey=s_suppkey AND s_nationkey=n_nationkey AND n_name='GERMANY') ORDER BY v DESC`,
	`SELECT l_shipmode,sum(CASE WHEN o_orderpriority='1-URGENT' OR o_orderpriority='2-HIGH' THEN 1 ELSE 0 END) AS high,sum(CASE WHEN o_orderpriority<>'1-URGENT' AND o_orderpriority<>'2-HIGH' THEN 1 ELSE 0 END) AS low FROM orders,items WHERE o_orderkey=l_orderkey AND l_shipmode IN ('MAIL','SHIP') AND l_commitdate<l_receiptdate AND l_receiptdate>='1994-01-01' AND l_receiptdate<'1995-01-01' GROUP BY l_shipmode ORDER BY l_shipmode`,
	`SELECT c_count,count(*) AS n FROM (SELECT c_custkey,count(o_orderkey) AS c_count FROM customers LEFT JOIN orders ON c_custkey=o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS counted GROUP BY c_count ORDER BY n DESC,c_count DESC`,
	`SELECT 100.0*sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice*(1-l_discount) ELSE 0 END)/sum(l_extendedprice*(1-l_discount)) AS promoted FROM items,parts WHERE l_partkey=p_partkey AND {items>=1995-09-01} AND {items<1995-10-01}`,
	`WITH revenue AS (SELECT l_suppkey AS supplier,sum(l_extendedprice*(1-l_discount)) AS total FROM items WHERE {items>=1996-01-01} AND {items<1996-04-01} GROUP BY l_suppkey) SELECT s_suppkey,s_name,total FROM suppliers,revenue WHERE s_suppkey=supplier AND total=(SELECT max(total) FROM revenue) ORDER BY s_suppkey`,
	`SELECT p_brand,p_type,p_size,count(*) AS n FROM (SELECT DISTINCT p_brand,p_type,p_size,ps_suppkey FROM partsupp,parts WHERE p_partkey=ps_partkey AND p_brand<>'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49,14,23,45,19,3,36,9) AND ps_suppkey NOT IN (SELECT s_suppkey FROM suppliers WHERE s_comment LIKE '%Customer%Complaints%')) AS supplied GROUP BY p_brand,p_type,p_size ORDER BY n DESC,p_brand,p_type,p_size`,
	`SELECT sum(l_extendedprice)/7.0 AS yearly FROM items,parts WHERE p_partkey=l_partkey AND p_brand='Brand#23' AND p_container='MED BOX' AND l_quantity<(SELECT 0.2*avg(l_quantity) FROM items WHERE l_partkey=p_partkey)`,
	`SELECT c_name,c_custkey,o_orderkey,orders.__time AS placed,o_totalprice,sum(l_quantity) AS q FROM customers,orders,items WHERE o_orderkey IN (SELECT l_orderkey FROM items GROUP BY l_orderkey HAVING sum(l_quantity)>185) AND c_custkey=o_custkey AND o_orderkey=l_orderkey GROUP BY c_name,c_custkey,o_orderkey,orders.__time,o_totalprice ORDER BY o_totalprice DESC,placed,o_orderkey LIMIT 100`,
	`SELECT sum(l_extendedprice*(1-l_discount)) AS revenue FROM items,parts WHERE (p_partkey=l_partkey AND p_brand='Brand#12' AND p_container IN ('SM CASE','SM BOX','SM PACK','SM PKG') AND l_quantity>=1 AND l_quantity<=11 AND p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR','REG AIR') AND l_shipinstruct='DELIVER IN PERSON') OR (p_partkey=l_partkey AND p_brand='Brand#23' AND p_container IN ('MED BAG','MED BOX','MED PKG','MED PACK') AND l_quantity>=10 AND l_quantity<=20 AND p_size BETWEEN 1 AND 10 AND l_shipmode IN ('AIR','REG AIR') AND l_shipinstruct='DELIVER IN PERSON') OR (p_partkey=l_partkey AND p_brand='Brand#34' AND p_container IN ('LG CASE','LG BOX','LG PACK','LG PKG') AND l_quantity>=20 AND l_quantity<=30 AND p_size BETWEEN 1 AND 15 AND l_shipmode IN ('AIR','REG AIR') AND l_shipinstruct='DELIVER IN PERSON')`,
	`SELECT s_name FROM suppliers,nations WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM parts WHERE p_name LIKE 'forest%') AND ps_availqty>(SELECT 0.5*sum(l_quantity) FROM items WHERE l_partkey=ps_partkey AND l_suppkey=ps_suppkey AND {items>=1994-01-01} AND {items<1995-01-01})) AND s_nationkey=n_nationkey AND n_name='CANADA' ORDER BY s_name`,
	`SELECT s_name,count(*) AS n FROM suppliers,items l1,orders,nations WHERE s_suppkey=l1.l_suppkey AND o_orderkey=l1.l_orderkey AND o_orderstatus='F' AND l1.l_receiptdate>l1.l_commitdate AND EXISTS (SELECT 1 FROM items l2 WHERE l2.l_orderkey=l1.l_orderkey AND l2.l_suppkey<>l1.l_suppkey) AND NOT EXISTS (SELECT 1 FROM items l3 WHERE l3.l_orderkey=l1.l_orderkey AND l3.l_suppkey<>l1.l_suppkey AND l3.l_receiptdate>l3.l_commitdate) AND s_nationkey=n_nationkey AND n_name='SAUDI ARABIA' GROUP BY s_name ORDER BY n DESC,s_name LIMIT 100`,
	`SELECT code,count(*) AS n,sum(balance) AS total FROM (SELECT substring(c_phone,1,2) AS code,c_acctbal AS balance FROM customers WHERE substring(c_phone,1,2) IN ('13','31','23','29','30','18','17') AND c_acctbal>(SELECT avg(c_acctbal) FROM customers WHERE c_acctbal>0.00 AND substring(c_phone,1,2) IN ('13','31','23','29','30','18','17')) AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey=c_custkey)) AS idle GROUP BY code ORDER BY code`,
}
