// Command gendoc generates docs/configuration.md from the list of properties.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/hengedb/henge/internal/config"
)

func main() {
	if err := os.WriteFile(os.Args[1], []byte(config.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}
