// Package pg parses the SQL of PostgreSQL clients.
//
// Parse splits a text into statements and converts each into a tree (node.go). It is independent of
// the dialect of Henge (package sql/syntax). Translate writes queries over datasources in that
// dialect, with a map of positions, so that errors refer to the text of the client. Package
// sql/pgcatalog runs queries over pg_catalog, information_schema or no table from the same tree.
//
//	lexer.go      tokens: E'', $$, $1, operators of any characters, nested comments
//	parse_*.go    recursive descent, operators by precedence
//	translate*.go a query over datasources in the dialect of package sql
//
// Unquoted words are folded to lower case, as in PostgreSQL. An Ident also keeps the original text,
// because datasources have columns such as cityName.
package pg
