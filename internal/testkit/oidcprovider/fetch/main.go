// Command fetch downloads the provider of OpenID Connect for the tests that start one.
package main

import (
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/testkit/oidcprovider"
)

func main() {
	folder, err := oidcprovider.Fetch()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(folder)
}
