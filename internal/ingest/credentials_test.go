package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// storeServer gives one object of one bucket in the way of S3 to requests that signed knows.
func storeServer(t *testing.T, signed func(*http.Request) bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.PostFormValue("Action") == "AssumeRole":
			if r.PostFormValue("RoleArn") != "arn:aws:iam::1:role/reader" || r.PostFormValue("ExternalId") != "partner" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>`+
				`<AccessKeyId>a</AccessKeyId>`+
				`<SecretAccessKey>s</SecretAccessKey><SessionToken>of-the-role</SessionToken><Expiration>`+
				`2099-01-01T00:00:00Z</Expiration></Credentials>`+
				`</AssumeRoleResult></AssumeRoleResponse>`)
		case !signed(r):
			w.WriteHeader(http.StatusForbidden)
		default:
			w.Header().Set("ETag", `"e"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(`{"id":7}`))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Every way to say who reads reaches the store, and a wrong secret does not read.
func TestCredentialsOfObjectStores(t *testing.T) {
	s3 := storeServer(t, func(r *http.Request) bool {
		token := r.Header.Get("X-Amz-Security-Token")
		return strings.Contains(r.Header.Get("Authorization"), "Credential=a/") && (token == "temporary" || token == "of-the-role")
	})
	azure := storeServer(t, func(r *http.Request) bool { return r.URL.Query().Get("sig") == "signed" })
	t.Setenv("AWS_ENDPOINT_URL_STS", s3)
	for _, c := range []struct {
		name, source string
		reads        bool
	}{
		{"a session token", `{"type":"s3","uris":["s3://b/o"],"endpointConfig":{"url":"` + s3 + `","signingRegion":"r"},` +
			`"properties":{"accessKeyId":"a","secretAccessKey":"s","sessionToken":"temporary"}}`, true},
		{"another session token", `{"type":"s3","uris":["s3://b/o"],"endpointConfig":{"url":"` + s3 + `","signingRegion":"r"},` +
			`"properties":{"accessKeyId":"a","secretAccessKey":"s","sessionToken":"no"}}`, false},
		{"a role", `{"type":"s3","uris":["s3://b/o"],"endpointConfig":{"url":"` + s3 + `","signingRegion":"r"},` +
			`"properties":{"accessKeyId":"x","secretAccessKey":"s",` +
			`"assumeRoleArn":"arn:aws:iam::1:role/reader","assumeRoleExternalId":"partner"}}`, true},
		{"a role without its external id", `{"type":"s3","uris":["s3://b/o"],"endpointConfig":{"url":"` + s3 + `","signingRegion":"r"},` +
			`"properties":{"accessKeyId":"x","secretAccessKey":"s",` +
			`"assumeRoleArn":"arn:aws:iam::1:role/reader"}}`, false},
		{"a shared access signature", `{"type":"azureStorage","uris":["azureStorage://acc/c/o"],` +
			`"endpointConfig":{"url":"` + azure + `"},"properties":{"sharedAccessStorageToken":"sv=1&sig=signed"}}`, true},
		{"another shared access signature", `{"type":"azureStorage","uris":["azureStorage://acc/c/o"],` +
			`"endpointConfig":{"url":"` + azure + `"},"properties":{"sharedAccessStorageToken":"sig=no"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ParseSource(json.RawMessage(c.source))
			if err != nil {
				t.Fatal(err)
			}
			rows, _, err := readTable(t, &Table{Source: s, Format: &JSON{}, Fields: fields(t, "id long")}, Options{}, 0)
			if reads := err == nil && len(rows) == 1; reads != c.reads {
				t.Errorf("reads: %v, %v, want %v", rows, err, c.reads)
			}
		})
	}
}
