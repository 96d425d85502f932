// Command gen writes the page of functions to the file that its argument names.
package main

import (
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/sql/functiondoc"
)

func main() {
	if err := os.WriteFile(os.Args[1], []byte(functiondoc.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
