// Command gendoc generates docs/coordinator.md from the list of the Coordinator's dynamic settings.
package main

import (
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/duty"
)

func main() {
	text, err := duty.Markdown()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
