// Package javatext treats strings as Java does, because the SQL functions of Druid return the
// results of Java: lengths and positions count UTF-16 code units, letter case follows the full
// mappings of Unicode, base64 takes padding as optional, and Format is String.format.
//
//	UnitCount("a\U0001f600") = 3    ToUpper("ß") = "SS"    Format("%,.2f", [1234.5]) = "1,234.50"
//
// The functions of expr/stringfn use it. Package javaregex implements regular expressions; package
// vector writes numbers as text.
package javatext
