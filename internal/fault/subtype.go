package fault

import "strings"

// UnknownSubtype returns the fault of a type that is not one of the known types of a part of a
// specification. class is the name of the part in Druid, which scripts search for.
func UnknownSubtype(class, name string, known []string) *Error {
	return InvalidInput("Please make sure to load all the necessary extensions and jars with type '%s' on 'service/coordinator' "+
		"service. Could not resolve type id '%s' as a subtype of `%s` known type ids = [%s]", name, name, class, strings.Join(known, ", "))
}
