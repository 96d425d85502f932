// Package pg reads SQL as clients of PostgreSQL write it.
//
// Parse splits a text into statements and turns each into a tree (node.go). The dialect of the rest
// of Henge (package sql/syntax) is not touched: what reads datasources is written in that dialect
// by Translate, with a map of places so that errors point into the client's text; what reads
// pg_catalog, information_schema or no table at all is answered by package sql/pgcatalog from the
// same tree.
//
//	lexer.go      tokens: E'', $$, $1, operators of any characters, nested comments
//	parse_*.go    recursive descent, operators by precedence
//	translate*.go a query over datasources in the dialect of package sql
//
// Words without quotes are folded to lower case, as PostgreSQL does; an Ident keeps the text as it
// was written too, because datasources have columns such as cityName.
package pg
