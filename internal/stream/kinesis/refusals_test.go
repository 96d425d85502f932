package kinesis

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/hengedb/henge/internal/testkit/kinesalite"
)

// A reader that asks too often waits, one whose iterator has expired makes another, and no record
// is missed or read twice.
func TestRefusedRequests(t *testing.T) {
	to, err := url.Parse(kinesalite.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	var asked, refused atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
			class := ""
			switch asked.Add(1) % 4 {
			case 2:
				class = "ExpiredIteratorException"
			case 3:
				class = "ProvisionedThroughputExceededException"
			}
			if class != "" {
				refused.Add(1)
				w.Header().Set("Content-Type", "application/x-amz-json-1.1")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"__type":"` + class + `","message":"no"}`)) // who asked may be gone
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	defer service.Close()
	s := openAt(t, service.URL, "refused")
	one := int32(1)
	if _, err := s.api.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &s.name, ShardCount: &one}); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	starts := positions(t, s, s.Earliest)
	r := read(t, s, starts)
	var got, want []string
	for _, value := range []string{"1", "2", "3", "4"} {
		put(t, s, "k", value)
		want = append(want, value)
		direct := openAt(t, to.String(), "refused")
		values, _, _ := until(t, s, r, positions(t, direct, direct.Latest))
		got = append(got, values...)
	}
	if !slices.Equal(got, want) || refused.Load() < 3 {
		t.Fatalf("read %v, %d requests were refused", got, refused.Load())
	}
}
