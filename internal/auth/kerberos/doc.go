// Package kerberos authenticates users by Kerberos tickets (SPNEGO), and adds tickets to the
// requests of this process.
//
//	Negotiate TOKEN ─► keytab ─► principal ─► rules ─► short name ─► signed cookie
//	cookie          ─► signature, time ───────────────► short name
//
// A user negotiates once. Later requests carry a cookie, which every process with the same secret
// accepts. docs/security.md describes the rules.
package kerberos
