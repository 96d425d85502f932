// Package secret keeps passwords and keys out of what is shown.
//
// There are two ways. What is known to be a secret when it is read is kept in a type that prints
// itself as ******** (Text, Password). What is only text, as the specification of a task or a
// statement, is masked by the names of members, of arguments and by the user part of URLs
// (MaskJSON, MaskText).
//
//	text.go      Text, a secret that can't be printed by accident
//	provider.go  Password and Provided: secrets that are given by the name of a variable
//	names.go     which names mean a secret
//	walk.go      JSON: MaskJSON, and Check and Restore for masks that come back
//	mask.go      texts: MaskText
//	held.go      the secrets of one request or task, found by value in its errors and log lines
//	seal.go      Sealer: encryption of what the metastore keeps
//
// Lists, logs, reports and payloads go through a mask before they leave the process.
package secret
