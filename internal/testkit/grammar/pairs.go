package grammar

import "strings"

// pairs are statements that compare values of two types with each other: {x} over t, {z} over u.
var pairs = [][]string{
	{
		"SELECT t.id, u.id FROM {t} JOIN {u} ON {x} = {z}", "SELECT t.id, u.id FROM {u} JOIN {t} ON {z} = {x}",
		"SELECT t.id, u.id FROM {t}, {u} WHERE {x} = {z}",
		"SELECT t.id, u.id FROM {t} JOIN {u} ON ({x} = {z}) IS TRUE",
	},
	{
		"SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {x} = {z}", "SELECT t.id, u.id FROM {u} RIGHT JOIN {t} ON {z} = {x}",
	},
	{
		"SELECT t.id FROM {t} WHERE {x} IN (SELECT {z} FROM {u})",
		"SELECT t.id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {x} = {z})",
		"SELECT DISTINCT t.id FROM {t} JOIN {u} ON {x} = {z}",
		"SELECT t.id FROM {t} WHERE {x} = ANY (SELECT {z} FROM {u})",
	},
	{
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE {x} = {z})",
		"SELECT t.id FROM {t} LEFT JOIN {u} ON {x} = {z} WHERE u.id IS NULL",
		"SELECT t.id FROM {t} EXCEPT SELECT t.id FROM {t} JOIN {u} ON {x} = {z}",
	},
	{
		"SELECT t.id FROM {t} WHERE {x} NOT IN (SELECT {z} FROM {u})",
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE ({x} = {z}) IS NOT FALSE)",
		"SELECT t.id FROM {t} WHERE {x} <> ALL (SELECT {z} FROM {u})", "SELECT t.id FROM {t} WHERE ({x} IN (SELECT {z} FROM {u})) IS FALSE",
	},
	{
		"SELECT t.id FROM {t} WHERE {x} NOT IN (SELECT {z} FROM {u} WHERE u.n = t.n)",
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE u.n = t.n AND ({x} = {z}) IS NOT FALSE)",
	},
}

// PairKinds is how many ways there are to compare two types, the first of which is a join.
var PairKinds = len(pairs)

// Pair fills in one of the ways to compare a value of a type over t with one of another type over
// u.
func (m *Maker) Pair(kind int, a, b *Type) []string {
	calm := a.Class == Bool || b.Class == Bool // a constant text that is cast to BOOLEAN is FALSE where that of a column is NULL
	x, z := m.value(a, "t", calm, 1), m.value(b, "u", calm, 1)
	t, u := "t", "u"
	if m.r.IntN(3) == 0 {
		t, x = "(SELECT id, n, "+x+" AS x FROM t) AS t", "t.x"
	}
	if m.r.IntN(3) == 0 {
		u, z = "(SELECT id, n, "+z+" AS z FROM u) AS u", "u.z"
	}
	fill := strings.NewReplacer("{x}", x, "{z}", z, "{t}", t, "{u}", u)
	out := make([]string, len(pairs[kind]))
	for i, s := range pairs[kind] {
		out[i] = fill.Replace(s)
	}
	return out
}
