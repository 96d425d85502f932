package role

import (
	"context"
	"crypto/x509"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
)

// Stores are the persistent stores of a process, for tools that use them without the process.
type Stores struct {
	// Metastore locates the rows; it is not open.
	Metastore metastore.Options
	Deep      deepstore.Store
	// Dir is the data directory.
	Dir string

	lock *directory
}

// OpenStores finds the stores of a process with these settings. With exclusive, it takes the lock
// of the data directory, so that no process can use it meanwhile; otherwise, a process may be
// running. The caller closes the stores.
func OpenStores(settings *config.Settings, exclusive bool) (*Stores, error) {
	dir := &directory{path: settings.Text("service.data.dir")}
	if exclusive {
		var err error
		if dir, err = openDirectory(dir.path); err != nil {
			return nil, err
		}
	}
	s := &Stores{Dir: dir.path}
	if exclusive {
		s.lock = dir
	}
	var err error
	if s.Metastore, err = metastoreOptions(settings, dir.path); err == nil {
		s.Deep, err = openDeepStorage(settings, dir)
	}
	if err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

func (s *Stores) unlock() {
	if s.lock != nil {
		s.lock.close()
	}
}

// Close closes deep storage and releases the lock.
func (s *Stores) Close() error {
	defer s.unlock()
	return s.Deep.Close()
}

// The settings that name the keys of what the metastore keeps sealed.
const (
	secretsKeyFile         = "service.metadata.secrets.keyFile"
	secretsPreviousKeyFile = "service.metadata.secrets.previousKeyFile"
)

// metastoreOptions says where the settings have the metastore.
func metastoreOptions(set *config.Settings, dir string) (metastore.Options, error) {
	var err error
	o := metastore.Options{MaxAuditBytes: max(0, set.Int("service.audit.manager.maxPayloadSizeBytes"))}
	switch manager := set.Text("service.audit.manager.type"); manager {
	case "sql":
	case "log":
		o.NoAudit = true
	default:
		return o, fault.InvalidInput("Value [%s] of setting [service.audit.manager.type] is unknown; use sql or log", manager)
	}
	if o.Sealer, err = secret.OpenSealer(set.Text(secretsKeyFile), set.Text(secretsPreviousKeyFile)); err != nil {
		return o, err
	}
	switch kind := set.Text("service.metadata.storage.type"); kind {
	case "sqlite":
		if o.Path = set.Text("service.metadata.storage.connector.connectURI"); o.Path == "" {
			o.Path = filepath.Join(dir, "metastore.db")
		}
	case "postgresql":
		o.URL = strings.TrimPrefix(set.Text("service.metadata.storage.connector.connectURI"), "jdbc:")
		if o.URL, err = secureStore(set, o.URL); err != nil {
			return o, err
		}
		o.User = set.Text("service.metadata.storage.connector.user")
		if o.Password, err = secretOf(set, "service.metadata.storage.connector.password"); err != nil {
			return o, err
		}
		if o.URL == "" {
			return o, fault.InvalidInput("The metadata store in PostgreSQL needs its address: set " +
				"[service.metadata.storage.connector.connectURI], such as postgresql://db.example.com:5432/henge")
		}
	default:
		return o, fault.InvalidInput("Value [%s] of setting [service.metadata.storage.type] is unknown; use sqlite or postgresql", kind)
	}
	return o, nil
}

// secureStore adds what the settings say of TLS to the URL of a PostgreSQL, where it says nothing
// itself.
func secureStore(set *config.Settings, text string) (string, error) {
	const of = "service.metadata.postgres.ssl."
	more := map[string]string{
		"sslmode": set.Text(of + "sslMode"), "sslrootcert": set.Text(of + "sslRootCert"), "sslcert": set.Text(of + "sslCert"),
		"sslkey": set.Text(of + "sslKey"),
	}
	password, err := secretOf(set, of+"sslPassword")
	if err != nil {
		return "", err
	}
	more["sslpassword"] = password.Reveal()
	if set.Bool(of+"useSSL") && more["sslmode"] == "" {
		more["sslmode"] = "verify-full"
	}
	switch mode := more["sslmode"]; mode {
	case "", "disable", "allow", "prefer", "require", "verify-ca", "verify-full":
	default:
		return "", fault.InvalidInput("Value [%s] of setting [%ssslMode] is unknown; use disable, allow, prefer, require, "+
			"verify-ca or verify-full",
			mode, of)
	}
	for _, name := range []string{"sslRootCert", "sslCert", "sslKey"} {
		if path := set.Text(of + name); path != "" {
			if _, err := os.Stat(path); err != nil {
				return "", fault.InvalidInput("File [%s] of setting [%s%s] is not readable", path, of, name)
			}
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return text, nil // opening it says what is wrong
	}
	query := u.Query()
	for name, value := range more {
		if value != "" && !query.Has(name) {
			query.Set(name, value)
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// secretOf reads a setting that is a secret, or the object that says which variable of the
// environment holds it.
func secretOf(set *config.Settings, key string) (secret.Text, error) {
	return secret.OfSetting(key, set.Text(key), os.LookupEnv)
}

// openDeepStorage opens the store that the settings name.
func openDeepStorage(set *config.Settings, dir *directory) (deepstore.Store, error) {
	switch set.Text("service.storage.type") {
	case "local":
		path, err := storagePath(set, dir, "service.storage.storageDirectory", "segments")
		if err != nil {
			return nil, err
		}
		return deepstore.OpenLocal(path)
	case "s3":
		temp, err := dir.sub("tmp")
		if err != nil {
			return nil, err
		}
		roots, err := outsideRoots(set)
		if err != nil {
			return nil, err
		}
		client, err := s3.Connect(context.Background(), s3Options(set, roots))
		if err != nil {
			return nil, err
		}
		return s3.NewStore(client, set.Text("service.storage.bucket"), set.Text("service.storage.baseKey"), temp)
	default:
		return nil, checkDeepStorage(set)
	}
}

// s3Options say how the S3 store of deep storage and of exports is reached.
func s3Options(set *config.Settings, roots *x509.CertPool) s3.Options {
	return s3.Options{
		Roots:    roots,
		Endpoint: set.Text("service.s3.endpoint.url"), Region: set.Text("service.s3.endpoint.signingRegion"),
		AccessKey: secret.NewText(set.Text("service.s3.accessKey")), SecretKey: secret.NewText(set.Text("service.s3.secretKey")),
	}
}

// outsideRoots returns the authorities of servers outside the cluster; nil: those of the machine.
func outsideRoots(set *config.Settings) (*x509.CertPool, error) {
	s, err := trustStore(set, "service.client.outside.")
	if err != nil {
		return nil, err
	}
	roots, err := s.Added()
	return roots, ofSetting(err)
}

// storagePath returns a configured directory, or its default in the data directory.
func storagePath(set *config.Settings, dir *directory, key, name string) (string, error) {
	if p := set.Text(key); p != "" {
		return filepath.Abs(p)
	}
	p, err := dir.sub(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(p)
}
