// Package oidc authenticates users and programs by tokens of an OpenID Connect provider.
//
// An Authenticator of type oidc verifies bearer tokens with the keys of the provider, and
// recognises logged-in browsers by a cookie:
//
//	program ── Authorization: Bearer ─► verify ─► claims ─► auth.Identity (name, roles, attributes)
//	browser ── Login, Callback ─► code flow with PKCE ─► session ── cookie ─►┘
//
// The provider may be unavailable. Until it has been discovered, requests with tokens fail with
// 503; later, the known keys remain valid. The goroutine of Run fetches the keys every few minutes,
// and immediately when a token has an unknown key, but at most once a second for all requests
// together.
//
// All processes share a Store of sessions and the key that seals unfinished logins, so the requests
// of a browser can reach any process. The cookie alone grants access: the store contains each
// session under the hash of its cookie, sealed by the cookie.
//
// A session contains the ID token of the provider. A process that forwards a request of a session
// sends that token (auth.Identity.Token), so other processes do not need the session.
//
// The endpoints are in internal/api/access.
package oidc
