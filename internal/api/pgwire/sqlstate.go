package pgwire

import "strings"

// sentences are how errors of package sql begin or what they have in them, with the SQLSTATE of
// PostgreSQL for such an error.
var sentences = []struct{ text, code string }{
	{"Object '", "42P01"}, {"not found in any table", "42703"}, {"Column '", "42703"}, {"No match found for function signature", "42883"},
	{"is ambiguous", "42702"}, {"is not being grouped", "42803"}, {"Cannot apply", "42883"}, {"Encountered", "42601"}, {"Lexical error",
		"42601"},
	{"Incorrect syntax", "42601"}, {"Duplicate", "42712"}, {"Invalid number of arguments", "42883"}, {"Table '", "42P01"},
}

// sqlState returns the SQLSTATE of an error of a statement.
func sqlState(message, otherwise string) string {
	for _, s := range sentences {
		if strings.Contains(message, s.text) {
			return s.code
		}
	}
	if otherwise == "22023" {
		return "42000"
	}
	return otherwise
}
