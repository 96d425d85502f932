package basic

// What tests of the package from outside share with those within.
var (
	MakePermission = permission
	MakeDecider    = decider
)
