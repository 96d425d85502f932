// Package basic stores users with passwords, and the roles that define their permissions.
//
// An Authenticator verifies the passwords of its users, and an Authorizer decides by its roles.
// Both use maps in memory. For each name, a Keeper changes the stored map by compare-and-swap, and
// a Follower loads the maps in processes that cannot read the store:
//
//	endpoints ─► Users, Roles ─► Store (the settings of the metastore)
//	                               │ Coordinators read it themselves
//	                               ▼
//	             Follower ◄─ push, poll ─ leading Coordinator
//	                │
//	                ▼ Load
//	      Authenticator, Authorizer ─► internal/auth
//
// Stored documents:
//
//	basic_authentication_<name>_users          {"bob":{"name":"bob","credentials":{..}}}
//	basic_authorization_<name>_users           {"bob":{"name":"bob","roles":["analyst"]}}
//	basic_authorization_<name>_groupMappings   {"s":{"name":"s","groupPattern":"..","roles":[..]}}
//	basic_authorization_<name>_roles           {"analyst":{"name":"analyst","permissions":[..]}}
//
// docs/security.md describes the rules. The endpoints are in internal/api/security, directories in
// internal/auth/ldap.
package basic
