package explain

import "testing"

// Trees that Druid gave for plans over system tables.
func TestExplainsOfSystemTables(t *testing.T) {
	const table = "BindableTableScan(table=[[sys, segments]])\n"
	for _, c := range []struct{ sql, want string }{
		{"SELECT datasource, COUNT(*) + 1 FROM sys.segments GROUP BY 1",
			"BindableProject(datasource=[$0], EXPR$1=[+($1, 1)])\n  BindableAggregate(group=[{1}], agg#0=[COUNT()])\n    " + table},
		{"SELECT datasource, COUNT(*) AS c FROM sys.segments GROUP BY 1 HAVING COUNT(*) > 1",
			"BindableFilter(condition=[>($1, 1)])\n  BindableAggregate(group=[{1}], c=[COUNT()])\n    " + table},
		{"SELECT SUM(num_rows), COUNT(*) FROM sys.segments",
			"BindableProject(EXPR$0=[CASE(=($1, 0), null:BIGINT, $0)], EXPR$1=[$2])\n" +
				"  BindableAggregate(group=[{}], EXPR$0=[$SUM0($8)], agg#1=[COUNT($8)], EXPR$1=[COUNT()])\n    " + table},
		{"SELECT SUM(num_rows) / COUNT(*) FROM sys.segments",
			"BindableProject(EXPR$0=[/(CASE(=($1, 0), null:BIGINT, $0), $2)])\n" +
				"  BindableAggregate(group=[{}], agg#0=[$SUM0($8)], agg#1=[COUNT($8)], agg#2=[COUNT()])\n    " + table},
		{"SELECT datasource, AVG(num_rows) FROM sys.segments GROUP BY 1 HAVING SUM(num_rows) > 5",
			"BindableProject(datasource=[$0], EXPR$1=[CAST(/($1, $2)):BIGINT])\n  BindableFilter(condition=[>($1, 5)])\n" +
				"    BindableAggregate(group=[{1}], agg#0=[$SUM0($8)], agg#1=[COUNT($8)])\n      " + table},
		{"SELECT segment_id, num_rows FROM sys.segments ORDER BY num_rows DESC LIMIT 3",
			"BindableProject(segment_id=[$0], num_rows=[$8])\n  BindableSort(sort0=[$8], dir0=[DESC], fetch=[3])\n    " + table},
		{"SELECT UPPER(segment_id) AS u FROM sys.segments ORDER BY u",
			"BindableSort(sort0=[$0], dir0=[ASC])\n  BindableProject(u=[UPPER($0)])\n    " + table},
		{"SELECT segment_id FROM sys.segments WHERE datasource IN ('a', 'b') AND num_rows NOT IN (1, 2)",
			"BindableProject(segment_id=[$0])\n  BindableFilter(condition=[AND(OR(=($1, 'a'), =($1, 'b')), <>($8, 1), <>($8, 2))])\n    " + table},
		{"SELECT datasource, segment_id FROM sys.segments WHERE datasource = 'x'",
			"BindableProject(datasource=[CAST('x':VARCHAR):VARCHAR], segment_id=[$0])\n  BindableFilter(condition=[=($1, 'x')])\n    " + table},
		{"SELECT segment_id, num_rows FROM sys.segments ORDER BY num_rows",
			"BindableSort(sort0=[$1], dir0=[ASC])\n  BindableProject(segment_id=[$0], num_rows=[$8])\n    " + table},
		{"SELECT segment_id, datasource, num_rows FROM sys.segments WHERE datasource = 'x' AND num_rows > 4",
			"BindableProject(segment_id=[$0], datasource=[$1], num_rows=[$8])\n  BindableFilter(condition=[AND(=($1, 'x'), >($8, 4))])\n    " + table},
		{"SELECT UPPER(datasource) AS u, SUM(num_rows + 4) FROM sys.segments GROUP BY 1",
			"BindableAggregate(group=[{0}], EXPR$1=[$SUM0($1)])\n  BindableProject(u=[UPPER($1)], $f1=[+($8, 4)])\n    " + table},
		{"SELECT TABLE_NAME, TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'x'",
			"BindableProject(TABLE_NAME=['x':VARCHAR], TABLE_SCHEMA=[$1])\n  BindableFilter(condition=[=($2, 'x')])\n    BindableTableScan(table=[[INFORMATION_SCHEMA, TABLES]])\n"},
		{"SELECT segment_id FROM sys.segments ORDER BY num_rows",
			"BindableProject(segment_id=[$0])\n  BindableSort(sort0=[$1], dir0=[ASC])\n    BindableProject(segment_id=[$0], num_rows=[$8])\n      " + table},
		{"SELECT segment_id FROM sys.segments ORDER BY num_rows LIMIT 4",
			"BindableProject(segment_id=[$0])\n  BindableProject(segment_id=[$0], num_rows=[$8])\n    BindableSort(sort0=[$8], dir0=[ASC], fetch=[4])\n      " + table},
		{"SELECT segment_id FROM sys.segments ORDER BY UPPER(datasource)",
			"BindableProject(segment_id=[$0])\n  BindableSort(sort0=[$1], dir0=[ASC])\n    BindableProject(segment_id=[$0], EXPR$1=[UPPER($1)])\n      " + table},
		{"SELECT datasource, COUNT(*) AS c FROM sys.segments GROUP BY 1 ORDER BY MAX(num_rows)",
			"BindableProject(datasource=[$0], c=[$1])\n  BindableSort(sort0=[$2], dir0=[ASC])\n    BindableAggregate(group=[{1}], c=[COUNT()], agg#1=[MAX($8)])\n      " + table},
		{"SELECT COUNT(*) FROM sys.segments a JOIN sys.server_segments b ON a.segment_id = b.segment_id",
			"BindableAggregate(group=[{}], EXPR$0=[COUNT()])\n  BindableJoin(condition=[=($0, $1)], joinType=[inner])\n" +
				"    BindableProject(segment_id=[$0])\n      " + table + "    BindableProject(segment_id=[$1])\n      BindableTableScan(table=[[sys, server_segments]])\n"},
	} {
		s, err := prepare("SET sqlOuterLimit = 7; EXPLAIN PLAN FOR " + c.sql)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Of(s, s.Context, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Plan != c.want {
			t.Errorf("%s:\n%swant\n%s", c.sql, got.Plan, c.want)
		}
	}
}
