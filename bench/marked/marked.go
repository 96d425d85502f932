// Package marked replaces measured text in documents, between the marks <!-- name --> and <!--
// /name -->, which it preserves.
package marked

import (
	"fmt"
	"os"
	"strings"
)

// Replace puts text between the marks called name of the file at path.
func Replace(path, name, text string) error {
	first, last := "<!-- "+name+" -->", "<!-- /"+name+" -->"
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), first)
	_, after, closed := strings.Cut(rest, last)
	if !ok || !closed {
		return fmt.Errorf("%s has no %s with a %s after it", path, first, last)
	}
	return os.WriteFile(path, []byte(before+first+"\n"+text+last+after), 0o644)
}
