// Package basic keeps users with passwords, and the roles that say what they may do.
//
// An Authenticator verifies the passwords of its users, an Authorizer decides by its roles. Both
// answer from maps in memory. A Keeper per name changes what is stored, by compare-and-swap on
// whole maps, and a Follower loads the maps of the processes that can't read the store:
//
//	endpoints ─► Users, Roles ─► Store (the settings of the metastore)
//	                               │ Coordinators read it themselves
//	                               ▼
//	             Follower ◄─ push, poll ─ leading Coordinator
//	                │
//	                ▼ Load
//	      Authenticator, Authorizer ─► internal/auth
//
// What is stored:
//
//	basic_authentication_<name>_users          {"bob":{"name":"bob","credentials":{..}}}
//	basic_authorization_<name>_users           {"bob":{"name":"bob","roles":["analyst"]}}
//	basic_authorization_<name>_groupMappings   {"s":{"name":"s","groupPattern":"..","roles":[..]}}
//	basic_authorization_<name>_roles           {"analyst":{"name":"analyst","permissions":[..]}}
//
// The rules are in spec/security.md, sections 2, 3, 5 and 6. The endpoints are in
// internal/api/security, directories in internal/auth/ldap.
package basic
