// Package access serves the paths below /service-ext/access: API keys, the identity of a client,
// and the login of users at an OpenID Connect provider.
//
// The keys are in internal/auth/keys, the provider and the sessions in internal/auth/oidc.
package access
