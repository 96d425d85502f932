// Package duty gives what a Coordinator does by itself, without being asked.
//
// The central type is Retention, which takes out of use what retention rules drop and what newer versions replaced. It works on the
// published timeline and writes to the metastore through the narrow Store interface. The rules themselves are in package duty/rule; which
// segments a server loads is decided where they are loaded.
package duty
