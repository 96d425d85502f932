// Package secret hides passwords and keys in output.
//
// There are two ways. A value that is known to be a secret when it is read has a type that prints
// itself as ******** (Text, Password). In plain text, such as the specification of a task or a
// statement, secrets are masked by the names of members and arguments, and in the user part of URLs
// (MaskJSON, MaskText).
//
//	text.go      Text, a secret that cannot be printed by accident
//	provider.go  Password and Provided: secrets from environment variables
//	names.go     the names of secret members
//	walk.go      JSON: MaskJSON, and Check and Restore for masks that clients send back
//	mask.go      texts: MaskText
//	held.go      the secrets of one request or task, found by value in its errors and log lines
//	seal.go      Sealer: encryption of values in the metastore
//
// Lists, logs, reports and payloads are masked before they leave the process.
package secret
