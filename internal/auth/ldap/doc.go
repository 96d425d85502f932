// Package ldap verifies passwords against a directory, and reads the groups of its users.
//
//	name, password ─► cache ─► bind as the search user ─► find the entry ─► bind as the entry
//
// A Directory opens a connection for each step and closes it afterwards. If several addresses are
// configured, it tries the next one when a server is unreachable or does not respond. A failure of
// the directory is not an error: the user is then unknown. docs/security.md describes the rules.
package ldap
