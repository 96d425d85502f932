// Command gendoc writes the table of permissions between its marks into docs/security.md.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hengedb/henge/internal/api/endpoints"
)

func main() {
	page, err := os.ReadFile(os.Args[1])
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(os.Args[1], []byte(endpoints.Document(string(page))), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
