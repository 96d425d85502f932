package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand"
	"time"
)

// ssb is the data of the Star Schema Benchmark (O'Neil, O'Neil, Chen: "Star Schema Benchmark,
// revision 3", 2009), generated after that specification: one fact table of 6 M rows for each unit
// of scale, four dimension tables, and the same joined into one flat table. The rows lie in order
// of the order's date, the last day being in 1998. Columns that no query reads are left out.
type ssb struct {
	rows      int
	days      []ssbDay
	customers []ssbPlace
	suppliers []ssbPlace
	parts     []ssbPart
}

type ssbDay struct {
	millis                     int64
	key, year, yearMonth, week int
	yearMonthName              string
}

type ssbPlace struct{ city, nation, region string }

type ssbPart struct{ manufacturer, category, brand string }

var ssbRegions = []struct {
	name    string
	nations [5]string
}{
	{"AFRICA", [5]string{"ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"}},
	{"AMERICA", [5]string{"ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"}},
	{"ASIA", [5]string{"CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"}},
	{"EUROPE", [5]string{"FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"}},
	{"MIDDLE EAST", [5]string{"EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"}},
}

// newSSB makes the dimensions for a number of lineorder rows.
func newSSB(rows int) *ssb {
	scale := float64(rows) / 6_000_000
	r := rand.New(rand.NewSource(7))
	s := &ssb{rows: rows}
	for day := time.Date(1992, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 1999; day = day.AddDate(0, 0, 1) {
		s.days = append(s.days, ssbDay{millis: day.UnixMilli(), key: day.Year()*10_000 + int(day.Month())*100 + day.Day(), year: day.Year(),
			yearMonth: day.Year()*100 + int(day.Month()), week: (day.YearDay()-1)/7 + 1, yearMonthName: day.Format("Jan2006")})
	}
	s.customers = ssbPlaces(r, max(int(30_000*scale), 100))
	s.suppliers = ssbPlaces(r, max(int(2_000*scale), 50))
	for range int(200_000 * (1 + math.Floor(math.Log2(max(scale, 1))))) {
		m, c := 1+r.Intn(5), 1+r.Intn(5)
		category := fmt.Sprintf("MFGR#%d%d", m, c)
		s.parts = append(s.parts, ssbPart{fmt.Sprintf("MFGR#%d", m), category, fmt.Sprintf("%s%d", category, 1+r.Intn(40))})
	}
	return s
}

func ssbPlaces(r *rand.Rand, n int) []ssbPlace {
	list := make([]ssbPlace, n)
	for i := range list {
		region := ssbRegions[r.Intn(5)]
		nation := region.nations[r.Intn(5)]
		list[i] = ssbPlace{fmt.Sprintf("%-9.9s%d", nation, r.Intn(10)), nation, region.name}
	}
	return list
}

var (
	ssbFactColumns = []column{{"lo_custkey", "BIGINT"}, {"lo_partkey", "BIGINT"}, {"lo_suppkey", "BIGINT"}, {"lo_orderdate", "BIGINT"},
		{"lo_quantity", "BIGINT"}, {"lo_extendedprice", "BIGINT"}, {"lo_discount", "BIGINT"}, {"lo_revenue", "BIGINT"}, {"lo_supplycost", "BIGINT"}}
	ssbDateColumns = []column{{"d_year", "BIGINT"}, {"d_yearmonthnum", "BIGINT"}, {"d_yearmonth", "VARCHAR"}, {"d_weeknuminyear", "BIGINT"}}
	ssbPartColumns = []column{{"p_mfgr", "VARCHAR"}, {"p_category", "VARCHAR"}, {"p_brand1", "VARCHAR"}}
)

func ssbPlaceColumns(prefix string) []column {
	return []column{{prefix + "_city", "VARCHAR"}, {prefix + "_nation", "VARCHAR"}, {prefix + "_region", "VARCHAR"}}
}

func keyed(key string, columns []column) []column {
	return append([]column{{key, "BIGINT"}}, columns...)
}

// flat is the one table with everything in it.
func (s *ssb) flat() *table {
	columns := append([]column(nil), ssbFactColumns...)
	for _, c := range [][]column{ssbDateColumns, ssbPlaceColumns("c"), ssbPlaceColumns("s"), ssbPartColumns} {
		columns = append(columns, c...)
	}
	return &table{name: "ssb_flat", rows: s.rows, columns: columns, partitionedBy: "YEAR", write: s.writeFact(true)}
}

// star are the fact table and the dimension tables.
func (s *ssb) star() []*table {
	dimension := func(name string, n int, columns []column, row func(w *rowWriter, i int)) *table {
		return &table{name: name, rows: n, columns: columns, partitionedBy: "ALL", write: func(to io.Writer, format fileFormat) error {
			return writeRows(to, format, columns, n, func(w *rowWriter, i int) {
				w.begin(0)
				row(w, i)
			})
		}}
	}
	return []*table{
		{name: "lineorder", rows: s.rows, columns: ssbFactColumns, partitionedBy: "YEAR", write: s.writeFact(false)},
		dimension("dates", len(s.days), keyed("d_datekey", ssbDateColumns), func(w *rowWriter, i int) {
			w.number("d_datekey", float64(s.days[i].key), 0, false)
			s.days[i].write(w)
		}),
		dimension("customer", len(s.customers), keyed("c_custkey", ssbPlaceColumns("c")), func(w *rowWriter, i int) {
			w.number("c_custkey", float64(i+1), 0, false)
			s.customers[i].write(w, "c")
		}),
		dimension("supplier", len(s.suppliers), keyed("s_suppkey", ssbPlaceColumns("s")), func(w *rowWriter, i int) {
			w.number("s_suppkey", float64(i+1), 0, false)
			s.suppliers[i].write(w, "s")
		}),
		dimension("part", len(s.parts), keyed("p_partkey", ssbPartColumns), func(w *rowWriter, i int) {
			w.number("p_partkey", float64(i+1), 0, false)
			s.parts[i].write(w)
		}),
	}
}

func (d ssbDay) write(w *rowWriter) {
	w.number("d_year", float64(d.year), 0, false)
	w.number("d_yearmonthnum", float64(d.yearMonth), 0, false)
	w.text("d_yearmonth", d.yearMonthName, false)
	w.number("d_weeknuminyear", float64(d.week), 0, false)
}

func (p ssbPlace) write(w *rowWriter, prefix string) {
	w.text(prefix+"_city", p.city, false)
	w.text(prefix+"_nation", p.nation, false)
	w.text(prefix+"_region", p.region, false)
}

func (p ssbPart) write(w *rowWriter) {
	w.text("p_mfgr", p.manufacturer, false)
	w.text("p_category", p.category, false)
	w.text("p_brand1", p.brand, false)
}

func (s *ssb) writeFact(flat bool) func(io.Writer, fileFormat) error {
	return func(to io.Writer, format fileFormat) error {
		r := rand.New(rand.NewSource(11))
		columns := ssbFactColumns
		if flat {
			columns = s.flat().columns
		}
		return writeRows(to, format, columns, s.rows, func(w *rowWriter, i int) {
			day := s.days[int(int64(i)*int64(len(s.days))/int64(s.rows))]
			customer, part, supplier := r.Intn(len(s.customers)), r.Intn(len(s.parts)), r.Intn(len(s.suppliers))
			quantity, discount := 1+r.Intn(50), r.Intn(11)
			price := 90_000 + (part/10)%20_001 + 100*(part%1000) // of one piece in cents, as in TPC-H
			w.begin(day.millis)
			for k, v := range []int{customer + 1, part + 1, supplier + 1, day.key, quantity, quantity * price, discount,
				quantity * price * (100 - discount) / 100, 6 * price / 10} {
				w.number(ssbFactColumns[k].name, float64(v), 0, false)
			}
			if flat {
				day.write(w)
				s.customers[customer].write(w, "c")
				s.suppliers[supplier].write(w, "s")
				s.parts[part].write(w)
			}
		})
	}
}

// writeRows writes n rows, with a header where the format has one.
func writeRows(to io.Writer, format fileFormat, columns []column, n int, row func(w *rowWriter, i int)) error {
	out := bufio.NewWriterSize(to, 1<<20)
	if format == csv {
		out.WriteString("t")
		for _, c := range columns {
			out.WriteString("," + c.name)
		}
		out.WriteString("\n")
	}
	w := rowWriter{format: format}
	for i := range n {
		w.line = w.line[:0]
		row(&w, i)
		w.line = w.end()
		if _, err := out.Write(w.line); err != nil {
			return err
		}
	}
	return out.Flush()
}
