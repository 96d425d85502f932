package main

import (
	"fmt"
	"io"
	"math/rand"
	"time"
)

// decisions is the data of a decision support schema after the specification of TPC-H (revision 3):
// orders of customers, with items of parts by suppliers, in nations of regions. One unit of scale
// has 6 M items. Values are drawn evenly where the specification does so for what the questions
// look at; columns that none reads are left out. Orders have the time they were placed, items the
// time they were shipped.
type decisions struct{ items, orders, customers, suppliers, parts int }

const (
	itemsOfOrder     = 4
	suppliersOfPart  = 4
	decisionsDays    = 2405 // in which orders are placed
	decisionsNations = 25
)

func newDecisions(items int) decisions {
	return decisions{items: items, orders: items / itemsOfOrder, customers: max(items/40, 100), suppliers: max(items/600, 100), parts: max(items/30, 200)}
}

var decisionsStart = time.Date(1992, 1, 1, 0, 0, 0, 0, time.UTC)

// choice is a text out of some, by a number.
func choice(n int, list ...string) string { return list[n%len(list)] }

func (d decisions) tables() []*table {
	small := func(name string, n int, columns []column, row func(w *rowWriter, r *rand.Rand, i int)) *table {
		return &table{name: name, rows: n, columns: columns, partitionedBy: "ALL", write: func(to io.Writer, format fileFormat) error {
			r := rand.New(rand.NewSource(int64(n)))
			return writeRows(to, format, columns, n, func(w *rowWriter, i int) {
				w.begin(0)
				row(w, r, i)
			})
		}}
	}
	whole := func(w *rowWriter, name string, n int) { w.number(name, float64(n), 0, false) }
	money := func(w *rowWriter, name string, cents int) { w.number(name, float64(cents)/100, 2, false) }
	text := func(w *rowWriter, name, value string) { w.text(name, value, false) }
	colours := []string{"almond", "azure", "black", "blue", "brown", "coral", "cream", "forest", "green", "ivory", "khaki", "lemon", "navy", "olive", "plum", "rose"}
	return []*table{
		small("regions", 5, []column{{"r_regionkey", "BIGINT"}, {"r_name", "VARCHAR"}}, func(w *rowWriter, _ *rand.Rand, i int) {
			whole(w, "r_regionkey", i)
			text(w, "r_name", ssbRegions[i].name)
		}),
		small("nations", decisionsNations, []column{{"n_nationkey", "BIGINT"}, {"n_name", "VARCHAR"}, {"n_regionkey", "BIGINT"}}, func(w *rowWriter, _ *rand.Rand, i int) {
			whole(w, "n_nationkey", i)
			text(w, "n_name", ssbRegions[i/5].nations[i%5])
			whole(w, "n_regionkey", i/5)
		}),
		small("suppliers", d.suppliers, []column{{"s_suppkey", "BIGINT"}, {"s_name", "VARCHAR"}, {"s_nationkey", "BIGINT"}, {"s_acctbal", "DOUBLE"}, {"s_comment", "VARCHAR"}},
			func(w *rowWriter, r *rand.Rand, i int) {
				whole(w, "s_suppkey", i+1)
				text(w, "s_name", fmt.Sprintf("Supplier#%09d", i+1))
				whole(w, "s_nationkey", r.Intn(decisionsNations))
				money(w, "s_acctbal", r.Intn(1_100_000)-100_000)
				text(w, "s_comment", choice(i, fmt.Sprint("no word ", i), "what Customer says are Complaints", fmt.Sprint("word ", i), fmt.Sprint("a word ", i)))
			}),
		small("customers", d.customers, []column{{"c_custkey", "BIGINT"}, {"c_name", "VARCHAR"}, {"c_nationkey", "BIGINT"}, {"c_phone", "VARCHAR"}, {"c_acctbal", "DOUBLE"},
			{"c_mktsegment", "VARCHAR"}}, func(w *rowWriter, r *rand.Rand, i int) {
			nation := r.Intn(decisionsNations)
			whole(w, "c_custkey", i+1)
			text(w, "c_name", fmt.Sprintf("Customer#%09d", i+1))
			whole(w, "c_nationkey", nation)
			text(w, "c_phone", fmt.Sprintf("%d-%03d", 10+nation, i%1000))
			money(w, "c_acctbal", r.Intn(1_100_000)-100_000)
			text(w, "c_mktsegment", choice(r.Intn(5), "AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"))
		}),
		small("parts", d.parts, []column{{"p_partkey", "BIGINT"}, {"p_name", "VARCHAR"}, {"p_brand", "VARCHAR"}, {"p_type", "VARCHAR"}, {"p_size", "BIGINT"}, {"p_container", "VARCHAR"}},
			func(w *rowWriter, r *rand.Rand, i int) {
				whole(w, "p_partkey", i+1)
				text(w, "p_name", colours[r.Intn(16)]+" "+colours[r.Intn(16)]+" "+colours[r.Intn(16)])
				text(w, "p_brand", fmt.Sprintf("Brand#%d%d", 1+r.Intn(5), 1+r.Intn(5)))
				text(w, "p_type", choice(r.Intn(6), "STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")+" "+
					choice(r.Intn(5), "ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")+" "+choice(r.Intn(5), "TIN", "NICKEL", "BRASS", "STEEL", "COPPER"))
				whole(w, "p_size", 1+r.Intn(50))
				text(w, "p_container", choice(r.Intn(5), "SM", "LG", "MED", "JUMBO", "WRAP")+" "+choice(r.Intn(8), "CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"))
			}),
		small("partsupp", d.parts*suppliersOfPart, []column{{"ps_partkey", "BIGINT"}, {"ps_suppkey", "BIGINT"}, {"ps_availqty", "BIGINT"}, {"ps_supplycost", "DOUBLE"}},
			func(w *rowWriter, r *rand.Rand, i int) {
				whole(w, "ps_partkey", 1+i/suppliersOfPart)
				whole(w, "ps_suppkey", d.supplierOf(i/suppliersOfPart, i%suppliersOfPart))
				whole(w, "ps_availqty", 1+r.Intn(9999))
				money(w, "ps_supplycost", 100+r.Intn(100_000))
			}),
		{name: "orders", rows: d.orders, partitionedBy: "YEAR", columns: []column{{"o_orderkey", "BIGINT"}, {"o_custkey", "BIGINT"}, {"o_orderstatus", "VARCHAR"},
			{"o_totalprice", "DOUBLE"}, {"o_orderpriority", "VARCHAR"}, {"o_comment", "VARCHAR"}}, write: d.writeOrders},
		{name: "items", rows: d.orders * itemsOfOrder, partitionedBy: "YEAR", columns: []column{{"l_orderkey", "BIGINT"}, {"l_partkey", "BIGINT"}, {"l_suppkey", "BIGINT"},
			{"l_quantity", "BIGINT"}, {"l_extendedprice", "DOUBLE"}, {"l_discount", "DOUBLE"}, {"l_tax", "DOUBLE"}, {"l_returnflag", "VARCHAR"}, {"l_linestatus", "VARCHAR"},
			{"l_commitdate", "VARCHAR"}, {"l_receiptdate", "VARCHAR"}, {"l_shipinstruct", "VARCHAR"}, {"l_shipmode", "VARCHAR"}}, write: d.writeItems},
	}
}

// supplierOf is the key of one of the suppliers of a part.
func (d decisions) supplierOf(part, number int) int {
	return 1 + (part+number*(d.suppliers/suppliersOfPart+part/d.suppliers))%d.suppliers
}

// day is when order i was placed: orders lie in the order of time.
func (d decisions) day(i int) time.Time {
	return decisionsStart.AddDate(0, 0, i*decisionsDays/d.orders)
}

func (d decisions) writeOrders(to io.Writer, format fileFormat) error {
	r := rand.New(rand.NewSource(22))
	t := d.tables()[6]
	return writeRows(to, format, t.columns, t.rows, func(w *rowWriter, i int) {
		w.begin(d.day(i).UnixMilli())
		w.number("o_orderkey", float64(i+1), 0, false)
		customer := 1 + r.Intn(d.customers)
		if customer%3 == 0 { // one of three has no orders
			customer--
		}
		w.number("o_custkey", float64(customer), 0, false)
		w.text("o_orderstatus", choice(r.Intn(3), "F", "O", "P"), false)
		w.number("o_totalprice", float64(r.Intn(40_000_000))/100, 2, false)
		w.text("o_orderpriority", choice(r.Intn(5), "1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"), false)
		w.text("o_comment", choice(r.Intn(50), fmt.Sprint("comment ", i), "some special packing requests")+fmt.Sprint(" ", i%100), false)
	})
}

func (d decisions) writeItems(to io.Writer, format fileFormat) error {
	r := rand.New(rand.NewSource(23))
	t := d.tables()[7]
	return writeRows(to, format, t.columns, t.rows, func(w *rowWriter, i int) {
		ordered := d.day(i / itemsOfOrder)
		shipped := ordered.AddDate(0, 0, 1+r.Intn(121))
		part, quantity := r.Intn(d.parts), 1+r.Intn(50)
		w.begin(shipped.UnixMilli())
		w.number("l_orderkey", float64(1+i/itemsOfOrder), 0, false)
		w.number("l_partkey", float64(1+part), 0, false)
		w.number("l_suppkey", float64(d.supplierOf(part, r.Intn(suppliersOfPart))), 0, false)
		w.number("l_quantity", float64(quantity), 0, false)
		w.number("l_extendedprice", float64(quantity*(90_000+part%20_000*5))/100, 2, false)
		w.number("l_discount", float64(r.Intn(11))/100, 2, false)
		w.number("l_tax", float64(r.Intn(9))/100, 2, false)
		w.text("l_returnflag", choice(r.Intn(3), "A", "N", "R"), false)
		w.text("l_linestatus", choice(r.Intn(2), "F", "O"), false)
		w.text("l_commitdate", ordered.AddDate(0, 0, 30+r.Intn(61)).Format(time.DateOnly), false)
		w.text("l_receiptdate", shipped.AddDate(0, 0, 1+r.Intn(30)).Format(time.DateOnly), false)
		w.text("l_shipinstruct", choice(r.Intn(4), "DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"), false)
		w.text("l_shipmode", choice(r.Intn(7), "REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"), false)
	})
}
