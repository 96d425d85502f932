package sql

import "testing"

// Types of columns that Druid gives to constants, and to what is made of constants and columns.
func TestTypesOfConstants(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT CASE WHEN i > 3 THEN 'x' || 'y' ELSE 'zz' END FROM c_types": "CHAR",
		"SELECT CASE WHEN i > 3 THEN 'x' || 'y' ELSE 'z' END FROM c_types":  "VARCHAR",
		"SELECT CASE WHEN i > 3 THEN UPPER('xy') ELSE 'z' END FROM c_types": "VARCHAR",
		"SELECT COALESCE('x' || 'y', 'z')":                                  "VARCHAR",
		"SELECT LEAST('a', s) FROM c_types":                                 "CHAR",
		"SELECT LEAST(s, 'a') FROM c_types":                                 "VARCHAR",
		"SELECT GREATEST(i, s, 'a') FROM c_types":                           "VARCHAR",
		"SELECT MOD(7, NULL)":                                               "NULL",
		"SELECT MOD(NULL, 7)":                                               "INTEGER",
		"SELECT TIMESTAMPADD(DAY, 1, NULL)":                                 "NULL",
		"SELECT TIMESTAMPDIFF(NANOSECOND, __time, __time) FROM c_types":     "BIGINT",
		"SELECT TIMESTAMPDIFF(MICROSECOND, __time, __time) FROM c_types":    "INTEGER",
		"SELECT SAFE_DIVIDE(i, ns) FROM c_types":                            "DECIMAL",
		"SELECT CAST('1.7' AS FLOAT) * 3":                                   "FLOAT",
	} {
		s, err := prepare(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := s.Columns[0].Type.Base.String(); got != want {
			t.Errorf("%s: column of type %s, want %s", text, got, want)
		}
	}
}
