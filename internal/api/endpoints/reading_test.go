package endpoints

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOnlyReads(t *testing.T) {
	for request, want := range map[string]bool{
		"GET /service/coordinator/v1/rules":                                  true,
		"POST /service/indexer/v1/sampler":                                   true,
		"POST /service/indexer/v1/sampler/":                                  true,
		"POST /proxy/overlord/service/indexer/v1/sampler":                    true,
		"POST /proxy/coordinator/service/coordinator/v1/compaction/simulate": true,
		"POST /service/coordinator/v1/metadata/datasources/a/segments":       true,
		"POST /mcp":                              true,
		"DELETE /mcp":                            false,
		"POST /service/indexer/v1/task":          false,
		"POST /service/indexer/v1/nothing":       false,
		"PUT /service/indexer/v1/sampler":        false,
		"POST /proxy/service/indexer/v1/sampler": false,
		"POST /":                                 false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := OnlyReads(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: %v", request, got)
		}
	}
	for pattern := range reading {
		if _, found := byPattern[pattern]; !found {
			t.Errorf("[%s] is no endpoint", pattern)
		}
	}
}
