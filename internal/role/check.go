package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// Finding is the result of Check for one requirement of a start.
type Finding struct {
	// About is the name of the requirement, for example "ports".
	About string
	// Problem is the reason why a start would fail, Warning a warning; if both are empty, the
	// requirement is met.
	Problem, Warning string
	// Fine describes a requirement that is met.
	Fine string
}

// checker collects findings.
type checker struct {
	n        *Node
	set      *config.Settings
	findings []Finding
}

func (c *checker) fine(about, format string, args ...any) {
	c.findings = append(c.findings, Finding{About: about, Fine: fmt.Sprintf(format, args...)})
}

func (c *checker) warn(about, format string, args ...any) {
	c.findings = append(c.findings, Finding{About: about, Warning: fmt.Sprintf(format, args...)})
}

func (c *checker) problem(about string, err error) {
	text := err.Error()
	if f := fault.Find(err); f != nil {
		text = f.Message
	}
	c.findings = append(c.findings, Finding{About: about, Problem: text})
}

// check notes err as a problem, or that all is well.
func (c *checker) check(about string, err error, format string, args ...any) {
	if err != nil {
		c.problem(about, err)
		return
	}
	c.fine(about, format, args...)
}

// Check checks the requirements of a process with these options, without starting it and without
// side effects: folders, ports, certificates, users, and with connect the metadata store and deep
// storage. It checks all requirements, even after a failure.
func Check(ctx context.Context, o Options, connect bool) []Finding {
	if len(o.Roles) == 0 {
		o.Roles = cluster.Roles
	}
	c := &checker{n: &Node{o: o, settings: o.Settings}, set: o.Settings}
	if idle := c.set.Idle(); len(idle) > 0 {
		c.warn("settings", "Settings that are accepted and change nothing are set: [%s]", strings.Join(idle, "], ["))
	}
	c.fine("settings", "[%d] settings are set", len(c.set.Set()))
	c.check("roles", c.n.checkRoles(), "[%s]", strings.Join(o.Roles, ", "))
	running := c.folders()
	c.tls()
	c.networks()
	c.ports(running)
	c.users()
	c.stores(ctx, connect)
	return c.findings
}

// folders looks at every folder and file that settings name. It returns who uses the data
// directory; empty: nobody.
func (c *checker) folders() (running string) {
	const data, about = "service.data.dir", "data directory"
	dir := c.set.Text(data)
	if err := usableFolder(data, dir); err != nil {
		c.problem(about, err)
	} else {
		var err error
		if running, err = lookAtDirectory(dir); err != nil {
			c.problem(about, err)
		} else if running != "" {
			c.warn(about, "Data directory [%s] is in use by %s, so ports are not tried", dir, running)
		} else {
			c.fine(about, "[%s] can be written to", dir)
		}
	}
	folders := []string{"service.processing.tmpDir", "service.segmentCache.directory", "service.auth.basic.common.cacheDirectory"}
	if c.set.Text("service.storage.type") == "local" {
		folders = append(folders, "service.storage.storageDirectory")
	}
	folders = append(folders, "service.export.storage.baseDir")
	for _, key := range folders {
		if path := c.set.Text(key); path != "" {
			c.check("folders", usableFolder(key, path), "[%s] (%s) can be written to", path, key)
		}
	}
	for _, l := range c.set.Locations() {
		const key = "service.segmentCache.locations"
		if err := usableFolder(key, l.Path); err != nil {
			c.problem("folders", err)
			continue
		}
		c.fine("folders", "[%s] (%s) can be written to", l.Path, key)
		if whole := diskSize(l.Path); l.MaxBytes > whole && whole > 0 {
			c.warn("folders", "Location [%s] of the segment cache may use [%d] bytes, but its disk has [%d]", l.Path, l.MaxBytes, whole)
		}
	}
	return running
}

// usableFolder reports why a process can't keep files in a folder. A folder that does not exist is
// made at the start, so the nearest one above it counts.
func usableFolder(key, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, os.ErrNotExist) && at != filepath.Dir(at):
			continue
		case err != nil:
			return fault.InvalidInput("Folder [%s] (%s) can't be reached: %s", path, key, reason(err))
		case !info.IsDir():
			return fault.InvalidInput("Folder [%s] (%s) can't be used: [%s] is not a folder", path, key, at)
		}
		const writeAndEnter = 2 | 1 // W_OK, X_OK
		if err := syscall.Access(at, writeAndEnter); err != nil {
			return fault.InvalidInput("Folder [%s] (%s) can't be used: this user may not write to [%s]", path, key, at)
		}
		return nil
	}
}

// lookAtDirectory reads the marks of a data directory that may not be there yet, and returns who
// holds its lock. It writes nothing.
func lookAtDirectory(path string) (running string, err error) {
	text, err := os.ReadFile(filepath.Join(path, "version"))
	switch word := strings.Trim(string(text), " \r\n\t\x00"); {
	case errors.Is(err, os.ErrNotExist) || err == nil && word == "":
	case err != nil:
		return "", fault.InvalidInput("Data directory [%s] can't be read: %s", path, reason(err))
	default:
		if err := checkFormat(path, word); err != nil {
			return "", err
		}
	}
	lock, err := os.Open(filepath.Join(path, "lock"))
	if err != nil {
		return "", nil //nolint:nilerr // no process was there yet
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return "", nil // closing the file gives it back
	}
	var holder [32]byte
	n, _ := lock.Read(holder[:]) // it only makes the message better
	if pid := strings.TrimSpace(string(holder[:n])); pid != "" {
		return "process " + pid, nil
	}
	return "another process", nil
}

// diskSize returns the bytes of the file system that a path is on; 0: unknown.
func diskSize(path string) int64 {
	for ; ; path = filepath.Dir(path) {
		var disk syscall.Statfs_t
		if syscall.Statfs(path, &disk) == nil {
			return int64(disk.Blocks) * int64(disk.Bsize) //nolint:unconvert // other systems have other types
		}
		if path == filepath.Dir(path) {
			return 0
		}
	}
}

func (c *checker) tls() {
	err := c.n.openTLS()
	if err == nil {
		_, err = outsideRoots(c.set)
	}
	if err == nil && c.n.tls.server == nil {
		c.fine("TLS", "off")
		return
	}
	c.check("TLS", err, "the certificate and its key fit")
}

func (c *checker) networks() {
	for _, key := range []string{"service.ingestion.http.blockedNetworks", "service.server.http.forwardedNetworks"} {
		if _, err := networks(key, c.set.List(key)); err != nil {
			c.problem("networks", err)
		}
	}
}

// ports tries every port that the process would listen on, and gives it back.
func (c *checker) ports(running string) {
	bind, about := c.n.bind(), "ports"
	if bind != loopback {
		if host := c.set.Text("service.host"); net.ParseIP(host) == nil {
			if _, err := net.LookupHost(host); err != nil {
				c.warn(about, "Host [%s] (service.host) has no address here, but other processes use it to reach this process", host)
			}
		}
	}
	if running != "" {
		return
	}
	tries := map[int64]string{} // which setting has a port, for those that two have
	try := func(role, key string) {
		port := c.set.Int(key)
		if port < 0 || port == 0 && c.set.Text(key) == "" {
			return
		}
		if other, twice := tries[port]; twice && port > 0 {
			c.problem(about, fault.InvalidInput("Port [%d] is in two settings: [%s] and [%s]", port, other, key))
			return
		}
		tries[port] = key
		l, err := listen(role, bind, key, port)
		if err != nil {
			c.problem(about, err)
			return
		}
		_ = l.net.Close() // nobody came
		c.fine(about, "[%d] (%s) is free", port, key)
	}
	for _, role := range c.n.o.Roles {
		for _, kind := range []string{"plaintextPort", "tlsPort"} {
			if kind == "plaintextPort" && !c.set.Bool("service.enablePlaintextPort") || kind == "tlsPort" && !c.set.Bool("service.enableTlsPort") {
				continue
			}
			key := "service." + role + "." + kind
			if only := "service." + kind; len(c.n.o.Roles) == 1 && c.set.IsSet(only) {
				key = only
			}
			try(role, key)
		}
	}
	if slices.Contains(c.n.o.Roles, cluster.Broker) {
		try(pgwireRole, "service.pgwire.plaintextPort")
		if c.set.Bool("service.enableTlsPort") {
			try(pgwireRole, "service.pgwire.tlsPort")
		}
	}
	try("exporter", "service.emitter.prometheus.port")
}

// users says whether anybody may do anything, and who could reach the process then.
func (c *checker) users() {
	if auth.Configured(c.set) {
		c.fine("access", "authentication is on")
		return
	}
	if c.n.bind() == loopback {
		c.fine("access", "no authentication; only this machine reaches the process")
		return
	}
	c.warn("access", "Authentication is off, and the process listens beyond this machine (service.host): everybody who "+
		"reaches it may read, change and delete everything. docs/security.md says how to configure users")
}

// stores looks at the settings of the metadata store and of deep storage, and with connect at the
// stores themselves.
func (c *checker) stores(ctx context.Context, connect bool) {
	o, err := checkedMetastore(c.set)
	switch {
	case err != nil:
		c.problem("metadata store", err)
	case !connect:
		c.fine("metadata store", "%s, not connected to", o)
	default:
		o.Clock, o.Release = c.n.o.Clock, c.n.o.Version
		state, err := metastore.Look(ctx, o)
		c.check("metadata store", err, "%s, %s", o, state)
	}
	const about = "deep storage"
	kind, wrong := c.set.Text("service.storage.type"), checkDeepStorage(c.set)
	switch {
	case wrong != nil:
		c.problem(about, wrong)
	case kind == "local" || !connect:
		c.fine(about, "[%s]", kind)
	default:
		c.check(about, c.reachDeepStorage(ctx), "bucket [%s] answers", c.set.Text("service.storage.bucket"))
	}
}

// checkStores looks at the settings of the stores. What is wrong with them is said before ports are
// opened, so that it does not wait for ports that are free.
func (n *Node) checkStores() error {
	if n.o.Store == nil {
		if _, err := checkedMetastore(n.settings); err != nil {
			return err
		}
	}
	folders := []string{"service.processing.tmpDir"}
	if n.has(cluster.Historical) {
		folders = append(folders, "service.segmentCache.directory")
	}
	for _, key := range folders {
		if path := n.settings.Text(key); path != "" {
			if err := usableFolder(key, path); err != nil {
				return err
			}
		}
	}
	return checkDeepStorage(n.settings)
}

func checkedMetastore(set *config.Settings) (metastore.Options, error) {
	o, err := metastoreOptions(set, set.Text("service.data.dir"))
	if err == nil {
		err = o.Validate()
	}
	return o, err
}

func checkDeepStorage(set *config.Settings) error {
	switch kind := set.Text("service.storage.type"); {
	case kind != "local" && kind != "s3":
		return fault.InvalidInput("Value [%s] of setting [service.storage.type] is unknown; use local or s3", kind)
	case kind == "s3" && set.Text("service.storage.bucket") == "":
		return fault.InvalidInput("Deep storage in S3 needs a bucket: set [service.storage.bucket]")
	}
	return nil
}

func (c *checker) reachDeepStorage(ctx context.Context) error {
	temp, err := os.MkdirTemp("", "henge-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	deep, err := openDeepStorage(c.set, &directory{path: temp})
	if err != nil {
		return err
	}
	_, err = deep.List(ctx, segmentPrefixes(c.set)[0], "", 1)
	return errors.Join(err, deep.Close())
}
