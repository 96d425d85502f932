// Command gendoc generates the table of permissions in docs/security.md, docs/api.md, and the types
// of the API for the console. Its argument is the root of the sources.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hengedb/henge/internal/api/endpoints"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(root string) error {
	security := filepath.Join(root, "docs", "security.md")
	page, err := os.ReadFile(security)
	if err != nil {
		return err
	}
	if err := os.WriteFile(security, []byte(endpoints.Document(string(page))), 0o644); err != nil {
		return err
	}
	for name, text := range map[string]func() (string, error){
		"docs/api.md": endpoints.Reference, "console/src/api/types.ts": endpoints.TypeScript,
	} {
		made, err := text()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(made), 0o644); err != nil {
			return err
		}
	}
	return nil
}
