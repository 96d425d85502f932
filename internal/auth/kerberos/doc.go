// Package kerberos knows users by tickets of Kerberos (SPNEGO), and gives requests of a process
// such tickets.
//
//	Negotiate TOKEN ─► keytab ─► principal ─► rules ─► short name ─► signed cookie
//	cookie          ─► signature, time ───────────────► short name
//
// A user negotiates once; later requests carry a cookie that every process with the same secret
// believes. The rules are in spec/security.md, section 7.
package kerberos
