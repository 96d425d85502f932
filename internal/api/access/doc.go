// Package access serves what is below /service-ext/access: API keys, and the log in of people at a
// provider of OpenID Connect.
//
// The keys are in internal/auth/keys, the provider and the sessions in internal/auth/oidc.
package access
