package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/versitygw"
)

// onEach runs a test with a client of a store in memory, and with one of a real server where that
// is installed. Both have a bucket called bucket.
func onEach(t *testing.T, test func(t *testing.T, c *Client)) {
	t.Run("memory", func(t *testing.T) {
		backend := s3mem.New()
		if err := backend.CreateBucket("bucket"); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gofakes3.New(backend).Server())
		t.Cleanup(server.Close)
		test(t, connect(t, Options{Endpoint: server.URL, Region: "us-east-1", AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s")}))
	})
	t.Run("server", func(t *testing.T) {
		test(t, connect(t, Options{Endpoint: versitygw.Start(t, "bucket"), Region: "us-east-1",
			AccessKey: secret.NewText(versitygw.AccessKey), SecretKey: secret.NewText(versitygw.SecretKey)}))
	})
}

// A store whose certificate only the authorities of the options have signed is trusted by them.
func TestAuthoritiesOfAStore(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	root := certs.Authority(t, "root of the store")
	server := httptest.NewUnstartedServer(gofakes3.New(backend).Server())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{root.Issue(t, "127.0.0.1").TLS()}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		roots *x509.CertPool
		ok    bool
	}{"trusted": {root.Pool(), true}, "of the machine": {nil, false}, "a stranger": {certs.Authority(t, "stranger").Pool(), false}} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // a failed handshake is tried again
		client := connect(t, Options{Endpoint: server.URL, Region: "us-east-1", AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s"),
			Roots: c.roots})
		if err := client.List(ctx, "bucket", "", "", func(Object) bool { return true }); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func connect(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStoreKeepsWhatWasPut(t *testing.T) {
	onEach(t, func(t *testing.T, c *Client) {
		s, err := NewStore(c, "bucket", "/deep/", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		large := bytes.Repeat([]byte("0123456789"), putMemory/10+1)
		for key, data := range map[string][]byte{"w/1/index": []byte("hello"), "w/2/index": large, "w/3/empty": nil,
			`a\b/%ä/index`: []byte("odd")} {
			if err := s.Put(ctx, key, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
			o, err := s.Open(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes, %v", key, len(got), err)
			}
			info, err := s.Stat(ctx, key)
			if err != nil || info.Size != int64(len(data)) || info.Key != key {
				t.Errorf("%s: %+v %v", key, info, err)
			}
			if back, err := s.Key(s.LoadSpec(key)); err != nil || back != key {
				t.Errorf("%s: load spec gives %q %v", key, back, err)
			}
		}
		if err := s.Delete(ctx, "w/3/empty", "w/9/none"); err != nil {
			t.Error(err)
		}
		if _, err := s.Stat(ctx, "w/3/empty"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("deleted: %v", err)
		}
		if _, err := s.Open(ctx, "../up"); err == nil {
			t.Error("a key that is no key was taken")
		}
		if _, err := s.Key([]byte(`{"type":"s3_zip","bucket":"other","key":"deep/x"}`)); err == nil {
			t.Error("a load spec of another bucket was taken")
		}
	})
}

func TestListGoesOnAfterAKey(t *testing.T) {
	onEach(t, func(t *testing.T, c *Client) {
		s, err := NewStore(c, "bucket", "", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1205 {
			if err := s.Put(t.Context(), fmt.Sprintf("k/%04d", i), strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		seen, after := 0, ""
		for {
			page, err := s.List(t.Context(), "k/", after, 500)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page {
				if o.Key <= after {
					t.Fatalf("%s comes after %s", o.Key, after)
				}
				after = o.Key
			}
			if seen += len(page); len(page) < 500 {
				break
			}
		}
		if seen != 1205 {
			t.Errorf("%d objects", seen)
		}
	})
}

func TestReadsBelongToOneVersion(t *testing.T) {
	onEach(t, func(t *testing.T, c *Client) {
		put := func(text string) {
			if err := c.Put(t.Context(), "bucket", "o", strings.NewReader(text), int64(len(text)), false); err != nil {
				t.Fatal(err)
			}
		}
		put("first version")
		f, err := c.Open(t.Context(), "bucket", "o")
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 5)
		if _, err := f.ReadAt(p, 0); err != nil || string(p) != "first" {
			t.Fatalf("%q %v", p, err)
		}
		put("other version")
		if _, err := f.ReadAt(p, 0); !errors.Is(err, ErrChanged) {
			if strings.HasSuffix(t.Name(), "/memory") {
				t.Skipf("the store in memory does not know If-Match: %v", err)
			}
			t.Errorf("a read of a newer version gave %v", err)
		}
	})
}

func TestAFreshObjectHidesNone(t *testing.T) {
	onEach(t, func(t *testing.T, c *Client) {
		put := func() error { return c.Put(t.Context(), "bucket", "once", strings.NewReader("x"), 1, true) }
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if err := put(); err == nil {
			if strings.HasSuffix(t.Name(), "/memory") {
				t.Skip("the store in memory does not know If-None-Match")
			}
			t.Error("an object was put over another")
		}
	})
}

func TestFaultsNameTheObject(t *testing.T) {
	onEach(t, func(t *testing.T, c *Client) {
		for _, at := range [][2]string{{"bucket", "none"}, {"nobucket", "x"}} {
			_, err := c.Stat(t.Context(), at[0], at[1])
			if err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at[0]) {
				t.Errorf("%v: %v", at, err)
			}
		}
	})
}

var _ deepstore.Object = (*File)(nil)
