// Package ldap verifies passwords against a directory, and reads the groups of its users.
//
//	name, password ─► cache ─► bind as the search user ─► find the entry ─► bind as the entry
//
// A Directory asks for each step on a connection of its own, and closes it after. Where several
// addresses are given, the next one is asked when one can't be reached or is silent. Whatever is
// wrong with the directory is not an error: the user is then unknown. The rules are in
// spec/security.md, section 4.
package ldap
