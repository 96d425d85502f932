// Package keystore reads certificates, keys and trusted certificates, and configures TLS for all
// incoming and outgoing connections of the process.
//
//	files ─► Store ─► Pair, Roots ─► Server ─► Listener   (the ports of the roles)
//	                              └► Client ─► Config     (other processes, directories, brokers)
//
// Store reads the formats of Java programs (JKS, PKCS#12) and PEM files or folders of them. Server
// and Client use the loaded certificates until Reload finds changed files; a connection uses the
// certificates that were loaded when it was opened. A Problem describes an invalid file; it names
// the setting and never shows its value. docs/tls.md describes the rules.
package keystore
