// Package keys authenticates programs by API keys: hg_<id>_<secret>.
//
// A Ring contains the keys that this process knows, and an Authenticator of type keys looks up the
// key of a request in it. A Keeper creates, rotates and revokes keys by compare-and-swap on one
// stored document. A Follower of internal/auth/basic loads the document into the Rings of all
// processes as soon as it changes:
//
//	endpoints ─► Keeper ─► Store (the settings of the metastore) ─► Follower ─► Ring ─► Authenticator
//
// The document contains only the SHA-256 of a secret. A fast hash is sufficient, because a secret
// consists of 256 random bits and cannot be guessed, unlike a password. The endpoints are in
// internal/api/access.
package keys
