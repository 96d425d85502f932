// Package security serves the endpoints of users and roles.
//
// On a Coordinator, an API serves the full interface (Routes). Other processes report whether their
// maps are loaded, and receive maps that the leading Coordinator pushes (LocalRoutes). Package
// internal/auth/basic stores users and roles, verifies logins and decides permissions. Package
// internal/role knows the leader and the receivers of changes.
//
// Maps are serialized as JSON where Druid uses Smile, because only processes of the same cluster
// read them.
package security
