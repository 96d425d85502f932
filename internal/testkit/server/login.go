package server

import "net/http"

// LoggedIn returns a client that sends every request with a user and a password.
func LoggedIn(user, password string) *http.Client {
	return &http.Client{Transport: login{user, password}}
}

type login struct{ user, password string }

// RoundTrip implements http.RoundTripper.
func (l login) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // the caller's request must stay as it is
	r.SetBasicAuth(l.user, l.password)
	return connections.Transport.RoundTrip(r)
}

// CloseIdleConnections closes those that all clients share.
func (login) CloseIdleConnections() { connections.CloseIdleConnections() }

// Secured are settings with the users admin (password pw1) and service_system (pw2), who may do
// all, an authenticator [meta] and an authorizer [az].
var Secured = []string{
	`service.extensions.loadList=["service-basic-security"]`,
	`service.auth.authenticatorChain=["meta"]`,
	"service.auth.authenticator.meta.type=basic",
	"service.auth.authenticator.meta.initialAdminPassword=pw1",
	"service.auth.authenticator.meta.initialInternalClientPassword=pw2",
	"service.auth.authenticator.meta.credentialsValidator.type=metadata",
	"service.auth.authenticator.meta.skipOnFailure=false",
	"service.auth.authenticator.meta.authorizerName=az",
	"service.escalator.type=basic",
	"service.escalator.internalClientUsername=service_system",
	"service.escalator.internalClientPassword=pw2",
	"service.escalator.authorizerName=az",
	`service.auth.authorizers=["az"]`,
	"service.auth.authorizer.az.type=basic",
}
