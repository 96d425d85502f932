// Package auth decides who may do what.
//
// A request passes three steps. An authenticator says who sends it (Identity). The authorizer that
// the identity names says what it may do (Grant). The handler asks for what the request needs
// (Need) through an Access, which stands for one request or one statement.
//
//	request ─► chain of authenticators ─► Identity ─► Authorizer ─► Access ─► handler, statement
//
// Every door asks the same Access: HTTP, JDBC, the PostgreSQL wire, tasks. An Access that was never
// asked has decided nothing, and an answer without a decision is refused at the edge. The rules are
// in spec/security.md.
package auth
