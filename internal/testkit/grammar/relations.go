package grammar

// relation is statements that say the same in other words.
func relation(name string, classes Class, templates ...string) *Production {
	return &Production{Group: "relations", Name: name, Classes: classes, Templates: templates}
}

// three is a template with a condition, cut into what is true, false and unknown.
func three(name string, classes Class, condition string) []*Production {
	parts := func(before, behind string) string {
		return before + " WHERE " + condition + behind + " UNION ALL " + before + " WHERE NOT (" + condition + ")" + behind + " UNION ALL " + before + " WHERE (" + condition + ") IS UNKNOWN" + behind
	}
	return []*Production{
		relation("rows by "+name, classes, "SELECT {x:out} AS c0, t.id AS c1 FROM {t}", parts(
			"SELECT {x:out} AS c0, t.id AS c1 FROM {t}", "")),
		relation("counts by "+name, classes, "SELECT COUNT(*), COUNT({x}), SUM(t.id) FROM {t}",
			"SELECT SUM(a), SUM(b), SUM(c) FROM ("+parts("SELECT COUNT(*) AS a, COUNT({x}) AS b, SUM(t.id) AS c FROM {t}", "")+") AS r"),
		relation("bounds by "+name, classes&Scalar, "SELECT MIN({x}), MAX({x}) FROM {t}", "SELECT MIN(a), MAX(b) FROM ("+parts(
			"SELECT MIN({x}) AS a, MAX({x}) AS b FROM {t}", "")+") AS r"),
		relation("distinct by "+name, classes&keys, "SELECT DISTINCT {x} FROM {t}", "SELECT DISTINCT c0 FROM ("+parts(
			"SELECT DISTINCT {x} AS c0 FROM {t}", "")+") AS r"),
		relation("groups by "+name, classes&keys, "SELECT {x}, COUNT(*) FROM {t} GROUP BY 1", "SELECT c0, SUM(c1) FROM ("+parts(
			"SELECT {x} AS c0, COUNT(*) AS c1 FROM {t}", " GROUP BY 1")+") AS r GROUP BY c0"),
		relation("outer join by "+name, classes&keys, "SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {x} = {ux}", parts(
			"SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {x} = {ux}", "")),
	}
}

// relations hold whatever the data. The partition of a WHERE in three is known as TLP.
var relations = concat(
	three("any condition", Any, "{q}"), three("a comparison", ranked, "{x} {cmp} {y}"), three("an equality", Plain, "{x} = {k}"), three(
		"a subquery", keys, "{x} IN (SELECT {ux} FROM {u})"),
	three("a list", Scalar, "{x} IN ({k}, {k2}, NULL)"),
	[]*Production{
		relation("x IN (SELECT x)", keys, "SELECT t.id FROM {t} WHERE {x} IN (SELECT {x} FROM {t})",
			"SELECT t.id FROM {t} WHERE {x} = {x}"),
		relation("x NOT IN (SELECT x)", keys, "SELECT t.id FROM {t} WHERE {x} NOT IN (SELECT {x} FROM {t} WHERE {x} = {x})",
			"SELECT t.id FROM {t} WHERE ({x} = {x}) IS FALSE OR NOT EXISTS (SELECT 1 FROM {t} WHERE {x} = {x})"),
		relation("x = ANY (SELECT x)", keys, "SELECT t.id, {x} = ANY (SELECT {x} FROM {t}) IS TRUE FROM {t}",
			"SELECT t.id, ({x} = {x}) IS TRUE FROM {t}"),
		relation("groups of groups", keys, "SELECT {x}, COUNT(*) FROM {t} GROUP BY 1",
			"SELECT c0, SUM(c1) FROM (SELECT {x} AS c0, MOD(t.id, 3) AS g, COUNT(*) AS c1 FROM {t} GROUP BY 1, 2) AS r GROUP BY 1",
			"SELECT c0, COUNT(*) FROM (SELECT {x} AS c0, t.id AS g FROM {t} GROUP BY 1, 2) AS r GROUP BY 1"),
		relation("filter moved below a join", keys, "SELECT t.id, u.id FROM {t} JOIN {u} ON {x} = {ux} WHERE {q} AND u.n > {i}",
			"SELECT r.id, s.id FROM (SELECT {x} AS k, t.id AS id FROM {t} WHERE {q}) AS r JOIN (SELECT {ux} AS k, u.id AS id FROM "+
				"{u} WHERE u.n > {i}) AS s ON r.k = s.k"),
		relation("filter moved below an outer join", keys, "SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {x} = {ux} WHERE {q}",
			"SELECT r.id, s.id FROM (SELECT {x} AS k, t.id AS id FROM {t} WHERE {q}) AS r LEFT JOIN (SELECT {ux} AS k, u.id AS id "+
				"FROM {u}) AS s ON r.k = s.k"),
		relation("filter moved below groups", keys,
			"SELECT c0, c1 FROM (SELECT {x} AS c0, MOD(t.id, 3) AS g, COUNT(*) AS c1 FROM {t} GROUP BY 1, 2) AS r WHERE g = 1 OR c0 "+
				"IS NULL",
			"SELECT {x}, COUNT(*) FROM {t} WHERE MOD(t.id, 3) = 1 OR {x} IS NULL GROUP BY {x}, MOD(t.id, 3)"),
		relation("filter moved below a UNION", keys,
			"SELECT * FROM (SELECT {x} AS c0, t.id AS c1 FROM {t} UNION ALL SELECT {ux}, u.id FROM {u}) AS r WHERE c0 = {k} OR c1 > 10",
			"SELECT {x}, t.id FROM {t} WHERE {x} = {k} OR t.id > 10 UNION ALL SELECT {ux}, u.id FROM {u} WHERE {ux} = {k} OR u.id > 10"),
		relation("filter moved below a window", keys,
			"SELECT * FROM (SELECT {x} AS c0, COUNT(*) OVER (PARTITION BY {x}) AS c1 FROM {t}) AS r WHERE c0 = {k}",
			"SELECT {x}, COUNT(*) OVER (PARTITION BY {x}) FROM {t} WHERE {x} = {k}"),
		relation("filter as a join", keys, "SELECT t.id FROM {t} WHERE {x} = {k}",
			"SELECT t.id FROM {t} JOIN (VALUES ({k})) AS r(v) ON {x} = r.v"),
		relation("list as VALUES", Scalar&^Bool, "SELECT t.id FROM {t} WHERE {x} IN ({k}, {k2})",
			"SELECT t.id FROM {t} WHERE {x} IN (SELECT r.v FROM (VALUES ({k}), ({k2})) AS r(v))"),
		relation("COUNT of a filter", Plain|JSON, "SELECT COUNT(*) FROM {t} WHERE {x} = {y}",
			"SELECT COUNT(*) FILTER (WHERE {x} = {y}) FROM {t}",
			"SELECT COALESCE(SUM(CASE WHEN {x} = {y} THEN 1 ELSE 0 END), 0) FROM {t}"),
		relation("DISTINCT twice", Plain|JSON, "SELECT DISTINCT {x} FROM {t}",
			"SELECT DISTINCT * FROM (SELECT DISTINCT {x} FROM {t}) AS r", "SELECT {x} FROM {t} UNION SELECT {x} FROM {t}",
			"SELECT {x} FROM {t} INTERSECT SELECT {x} FROM {t}"),
		relation("nothing taken away", Plain|JSON, "SELECT {x} FROM {t}",
			"SELECT {x} FROM {t} EXCEPT ALL SELECT {ux} FROM {u} WHERE FALSE", "SELECT {x} FROM {t} INTERSECT ALL SELECT {x} FROM {t}"),
		relation("a join with itself", keys, "SELECT t.id FROM {t} WHERE {x} = {x}",
			"SELECT DISTINCT r.id FROM (SELECT {x} AS k, t.id AS id FROM {t}) AS r JOIN (SELECT {x} AS k FROM {t}) AS s ON r.k = s.k"),
		relation("set operators", Plain, "SELECT DISTINCT {x} FROM {t}",
			"(SELECT {x} FROM {t} EXCEPT SELECT {ux} FROM {u}) UNION (SELECT {x} FROM {t} INTERSECT SELECT {ux} FROM {u})"),
		relation("order of a subquery", ranked|Lists, "SELECT {x}, t.id FROM {t}",
			"SELECT * FROM (SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY 1{dir}, 2 LIMIT 100) AS r"),
		relation("pages", ranked|Lists, "SELECT {x}, t.id FROM {t}",
			"(SELECT {x}, t.id FROM {t} ORDER BY 1{dir}, 2 LIMIT 5) UNION ALL (SELECT {x}, t.id FROM {t} ORDER BY 1{dir}, 2 OFFSET 5)"),
	})
