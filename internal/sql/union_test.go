package sql

import "testing"

// Constant texts of one length are CHAR in a UNION, as they are alone; of several lengths they are
// VARCHAR.
func TestUnionsOfConstants(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 'x' UNION ALL SELECT 'y'":                          "CHAR",
		"SELECT 'x' UNION ALL SELECT 'abc'":                        "VARCHAR",
		"SELECT 'abc' UNION SELECT 'x'":                            "VARCHAR",
		"SELECT 'x' UNION ALL SELECT 'y' UNION ALL SELECT 'abc'":   "VARCHAR",
		"SELECT 'x' UNION ALL SELECT s2 FROM c_types WHERE id = 1": "VARCHAR",
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
