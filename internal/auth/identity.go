package auth

import "github.com/hengedb/henge/internal/secret"

// Identity is the identity of the user of a request.
type Identity struct {
	Name string
	// Authorizer is the name of the authorizer of this identity.
	Authorizer string
	// By is the name of the authenticator that identified the user.
	By string
	// Groups are the distinguished names of its directory groups, as received.
	Groups []string
	// Roles are the roles from its token or key. They are added to the roles of the role provider.
	Roles []string
	// Attributes are the attributes of its directory entry or token, by name.
	Attributes map[string][]string
	// Token, if set, is a bearer token that replaces the credentials of the request when it is
	// forwarded to other processes. It is never shown.
	Token secret.Text `json:"-"`
}
