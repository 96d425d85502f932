// Package auth decides who may do what.
//
// A request passes three steps. An authenticator determines its sender (Identity). The authorizer
// of the identity determines its permissions (Grant). The handler checks the permissions that the
// request needs (Need) through an Access, which belongs to one request or one statement.
//
//	request ─► chain of authenticators ─► Identity ─► Authorizer ─► Access ─► handler, statement
//
// HTTP, JDBC, the PostgreSQL protocol and tasks use the same Access. The edge rejects a response if
// its Access has never decided anything. docs/security.md describes the rules.
package auth
