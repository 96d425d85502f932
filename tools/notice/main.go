// Command notice writes the file NOTICE: the components of the binary, with their licences.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hengedb/henge/tools/licences"
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "notice: "+err.Error())
		os.Exit(1)
	}
}

func write(root string) error {
	modules, err := licences.Modules(root)
	if err != nil {
		return err
	}
	packages, installed, err := licences.Packages(root)
	if err != nil {
		return err
	}
	if !installed {
		return fmt.Errorf("the packages of the console are not installed: run [npm ci --prefix console]")
	}
	return os.WriteFile(filepath.Join(root, "NOTICE"), []byte(licences.Notice(modules, packages)), 0o644)
}
