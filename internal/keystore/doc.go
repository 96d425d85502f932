// Package keystore reads certificates, keys and trusted certificates, and makes TLS of them, for
// every connection of the process in both directions.
//
//	files ─► Store ─► Pair, Roots ─► Server ─► Listener   (the ports of the roles)
//	                              └► Client ─► Config     (other processes, directories, brokers)
//
// Store reads the formats that Java programs have (JKS, PKCS#12) and PEM files or folders of them.
// Server and Client keep what they have read until Reload finds that the files have changed; a
// connection uses what was there when it was made. What is wrong with a file is a Problem, which
// names the setting and never shows its value. The rules are in docs/tls.md.
package keystore
