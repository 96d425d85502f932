// Package security serves the endpoints of users and roles (spec/security.md, section 6).
//
// An API has the full interface where the process is a Coordinator (Routes). Other processes say
// whether their maps are loaded, and take maps that the leading Coordinator pushes (LocalRoutes).
// What is stored, and who may log in and do what, is in internal/auth/basic; who leads, and whom a
// change is pushed to, in internal/role.
//
// Maps are serialized as JSON, where the reference system has Smile: only processes of one cluster
// read them.
package security
