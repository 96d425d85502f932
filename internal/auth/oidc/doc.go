// Package oidc lets people and programs in by tokens of a provider of OpenID Connect.
//
// An Authenticator of type oidc verifies bearer tokens by the provider's keys, and knows the
// browsers that have logged in by a cookie:
//
//	program ── Authorization: Bearer ─► verify ─► claims ─► auth.Identity (name, roles, attributes)
//	browser ── Login, Callback ─► code flow with PKCE ─► session ── cookie ─►┘
//
// The provider may be away: at the start, until it was discovered, tokens are answered with 503;
// later the keys that are known stay good. Keys are fetched anew each few minutes, and at once for
// a token whose key is unknown, by the one goroutine of Run: at most once a second however many
// ask.
//
// A session holds the provider's ID token. A process that passes a request of a session on sends
// that token (auth.Identity.Token), so that no other process has to know the session.
//
// The endpoints are in internal/api/access.
package oidc
