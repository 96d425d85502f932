package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
)

// TestSegmentsOfOtherStores opens a segment where Druid may have put it.
func TestSegmentsOfOtherStores(t *testing.T) {
	zip, err := os.ReadFile("../../segment/v9/testdata/dim.zip")
	if err != nil {
		t.Fatal(err)
	}
	backend := s3mem.New()
	if err := backend.CreateBucket("old"); err != nil {
		t.Fatal(err)
	}
	for key, data := range map[string][]byte{"wiki/index.zip": zip, "wiki/cut.zip": zip[:len(zip)/2]} {
		if _, err := backend.PutObject("old", key, nil, bytes.NewReader(data), int64(len(data)), nil); err != nil {
			t.Fatal(err)
		}
	}
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	defer bucket.Close()
	blobs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") == "":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path != "/old/wiki/index.zip":
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("ETag", `"e"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(zip))
		}
	}))
	defer blobs.Close()
	keys := map[string]string{"accessKeyId": "a", "secretAccessKey": "s"}
	s := sources{
		access: &ingest.Access{}, temp: t.TempDir(),
		s3:     s3.Options{Endpoint: bucket.URL, AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s")},
		google: ObjectStore{Properties: keys, Endpoint: bucket.URL},
		azure:  ObjectStore{Account: "acc", Properties: map[string]string{"key": "c2VjcmV0"}, Endpoint: blobs.URL},
	}
	for spec, want := range map[string]string{
		`{"type":"s3_zip","bucket":"old","key":"wiki/index.zip","S3Schema":"s3n"}`: "",
		`{"type":"google","bucket":"old","path":"wiki/index.zip"}`:                 "",
		`{"type":"azure","containerName":"old","blobPath":"wiki/index.zip"}`:       "",
		`{"type":"google","bucket":"old","path":"wiki/none.zip"}`:                  "does not exist",
		`{"type":"azure","containerName":"old","blobPath":"wiki/none.zip"}`:        "does not exist",
		`{"type":"google","bucket":"old","path":"wiki/cut.zip"}`:                   "is not a complete zip file",
		`{"type":"hdfs","path":"hdfs://name/segments/wiki/index.zip"}`:             "[hdfs] can't be imported",
		`{"type":"google","bucket":3}`:                                             "not a JSON object with texts",
		`{"type":"google"}`:                                                        "'bucket' and 'path'",
	} {
		found, err := s.open(t.Context(), json.RawMessage(spec))
		if want != "" {
			if f := fault.Find(err); f == nil || !strings.Contains(f.Message, want) {
				t.Errorf("%s: %v, want %q", spec, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if _, err := fs.Stat(found.files, "meta.smoosh"); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		if err := found.drop(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(s.temp)
	if err != nil || len(left) > 0 {
		t.Errorf("[%d] files are left (%v)", len(left), err)
	}
	s.azure.Account = ""
	if _, err := s.open(t.Context(), json.RawMessage(fmt.Sprintf(`{"type":"azure","containerName":"old","blobPath":%q}`, "wiki/index.zip"))); err == nil ||
		!strings.Contains(err.Error(), "service.azure.account") {
		t.Errorf("without an account: %v", err)
	}
}
