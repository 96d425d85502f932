package auth

// Identity is who sends a request.
type Identity struct {
	Name string
	// Authorizer is the name of the one that decides for this identity.
	Authorizer string
	// By is the name of the authenticator that knows it.
	By string
	// Groups are the distinguished names of its directory groups, as they came.
	Groups []string
	// Roles are those that its token or key brings along; they add to those of the role provider.
	Roles []string
	// Attributes are what its directory entry or token says of it, by name.
	Attributes map[string][]string
	// Token, if there is one, is what other processes know it by: a bearer token that takes the place
	// of the credentials of the request where it is passed on. It is never shown.
	Token string `json:"-"`
}
