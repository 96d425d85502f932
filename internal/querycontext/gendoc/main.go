// Command gendoc generates docs/context.md from the list of query context parameters.
package main

import (
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/querycontext"
)

func main() {
	if err := os.WriteFile(os.Args[1], []byte(querycontext.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
