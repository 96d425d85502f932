package fault

import "strings"

// UnknownSubtype is the fault of a type that is none of those which a part of a specification may
// have. class names the part as the interface does, which scripts look for.
func UnknownSubtype(class, name string, known []string) *Error {
	return InvalidInput("Please make sure to load all the necessary extensions and jars with type '%s' on 'service/coordinator' "+
		"service. Could not resolve type id '%s' as a subtype of `%s` known type ids = [%s]", name, name, class, strings.Join(known, ", "))
}
