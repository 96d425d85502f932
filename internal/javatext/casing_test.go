package javatext

import "testing"

func TestLetterCase(t *testing.T) {
	for _, c := range []struct{ text, lower, upper string }{
		{"Straße", "straße", "STRASSE"},
		{"ΟΔΥΣΣΕΥΣ", "οδυσσευς", "ΟΔΥΣΣΕΥΣ"},
		{"İ", "i̇", "İ"},
		{"ﬁ", "ﬁ", "FI"},
		{"abcÉ", "abcé", "ABCÉ"},
	} {
		if got := ToLower(c.text); got != c.lower {
			t.Errorf("lower case of %s is %s", c.text, got)
		}
		if got := ToUpper(c.text); got != c.upper {
			t.Errorf("upper case of %s is %s", c.text, got)
		}
	}
}
