// Package keys lets programs in by API keys: hg_<id>_<secret>.
//
// A Ring holds the keys that this process knows, and an Authenticator of type keys looks requests
// up in it. A Keeper creates, rotates and revokes keys by compare-and-swap on one stored document,
// which a Follower of internal/auth/basic loads into the Rings of all processes as soon as it
// changes:
//
//	endpoints ─► Keeper ─► Store (the settings of the metastore) ─► Follower ─► Ring ─► Authenticator
//
// Of a secret only its SHA-256 is kept. That is enough since a secret is made of 256 random bits,
// unlike a password: nobody can try them all. The endpoints are in internal/api/access.
package keys
