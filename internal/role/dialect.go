package role

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

const (
	errorFormat  = "service.server.http.errorFormat"
	aliasVersion = "service.api.aliasVersion"
	// objectResults is the first release of Druid in which the results of statements are JSON objects,
	// if nothing names a format; those before have lines.
	objectResults = 28
)

var releasePattern = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,6}){1,3}(-[0-9A-Za-z.-]+)?$`)

// errorForm returns which error bodies are written: union, modern, or "" for the form that belongs
// to the name under which a request comes.
func (n *Node) errorForm() (string, error) {
	form := n.settings.Text(errorFormat)
	if form != "" && form != "union" && form != "modern" {
		return "", fault.InvalidInput("Value [%s] of setting [%s] is unknown; use union or modern", form, errorFormat)
	}
	return form, nil
}

// aliasRelease returns the major number of the release of Druid whose choices hold for requests
// under an alias.
func (n *Node) aliasRelease() (int, error) {
	version := n.settings.Text(aliasVersion)
	if !releasePattern.MatchString(version) {
		return 0, fault.InvalidInput("Value [%s] of setting [%s] is not a release, such as 33.0.0", version, aliasVersion)
	}
	major, _, _ := strings.Cut(version, ".")
	return strconv.Atoi(major)
}
