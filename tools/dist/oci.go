package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is who the process of a container is: nobody on machines, and not root.
const imageUser = 65532

// The types of an OCI image layout.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

type imageConfig struct {
	Created      string `json:"created"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		User         string              `json:"User"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Env          []string            `json:"Env"`
		Entrypoint   []string            `json:"Entrypoint"`
		Cmd          []string            `json:"Cmd"`
		Volumes      map[string]struct{} `json:"Volumes"`
		WorkingDir   string              `json:"WorkingDir"`
		Labels       map[string]string   `json:"Labels"`
		StopSignal   string              `json:"StopSignal"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// layout collects the blobs of an image layout.
type layout struct{ entries []entry }

// blob adds a blob and returns its name.
func (l *layout) blob(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.entries = append(l.entries, entry{"blobs/sha256/" + sum, 0o644, 0, data})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

func (l *layout) json(mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return l.blob(mediaType, data), nil
}

// image makes the image layout for architectures, as one tar that container tools read.
func (r *release) image(architectures []string) error {
	l := &layout{}
	l.entries = append(l.entries, entry{"blobs/", 0o755, 0, nil}, entry{"blobs/sha256/", 0o755, 0, nil})
	all := index{SchemaVersion: 2, MediaType: typeIndex}
	for _, arch := range architectures {
		d, err := r.imageFor(l, arch)
		if err != nil {
			return err
		}
		all.Manifests = append(all.Manifests, d)
	}
	inner, err := l.json(typeIndex, all)
	if err != nil {
		return err
	}
	inner.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/henge:" + r.version,
	}
	outer, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{inner}})
	if err != nil {
		return err
	}
	l.entries = append(l.entries, entry{"index.json", 0o644, 0, outer})
	l.entries = append(l.entries, entry{"oci-layout", 0o644, 0, []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	var b bytes.Buffer
	if err := writeTar(&b, r.at, l.entries); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "henge_"+r.version+"_oci.tar"), b.Bytes(), 0o644)
}

// imageFor adds the image of one architecture to the layout.
func (r *release) imageFor(l *layout, arch string) (descriptor, error) {
	files, err := r.imageFiles(arch)
	if err != nil {
		return descriptor{}, err
	}
	var plain bytes.Buffer
	if err := writeTar(&plain, r.at, files); err != nil {
		return descriptor{}, err
	}
	layer, err := packed(plain.Bytes())
	if err != nil {
		return descriptor{}, err
	}
	labels := map[string]string{
		"org.opencontainers.image.title": "henge", "org.opencontainers.image.version": r.version,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.created": r.at.Format(time.RFC3339),
		"org.opencontainers.image.description": "A real-time analytics store",
	}
	c := imageConfig{Created: r.at.Format(time.RFC3339), Architecture: arch, OS: "linux"}
	c.Config.User = fmt.Sprintf("%d:%d", imageUser, imageUser)
	c.Config.ExposedPorts = map[string]struct{}{}
	for _, port := range []int{8081, 8082, 8083, 8090, 8091, 8888} {
		c.Config.ExposedPorts[fmt.Sprintf("%d/tcp", port)] = struct{}{}
	}
	c.Config.Env = []string{"PATH=/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}
	c.Config.Entrypoint, c.Config.Cmd = []string{"/usr/bin/henge"}, []string{"server", "--data", "/var/lib/henge"}
	c.Config.Volumes = map[string]struct{}{"/var/lib/henge": {}}
	c.Config.WorkingDir, c.Config.Labels, c.Config.StopSignal = "/var/lib/henge", labels, "SIGTERM"
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))}
	c.History = []history{{c.Created, "make dist"}}
	config, err := l.json(typeConfig, c)
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.json(typeManifest, manifest{
		SchemaVersion: 2, MediaType: typeManifest, Config: config, Layers: []descriptor{l.blob(typeLayer, layer)}, Annotations: labels,
	})
	d.Platform = &platform{arch, "linux"}
	return d, err
}

// passwd is the file of users.
const passwd = "root:x:0:0:root:/:/sbin/nologin\nhenge:x:%[1]d:%[1]d:henge:/var/lib/henge:/sbin/nologin\n"

// imageFiles returns the files of the image. Time zones are in the binary.
func (r *release) imageFiles(arch string) ([]entry, error) {
	binary, err := os.ReadFile(r.binary("linux/" + arch))
	if err != nil {
		return nil, err
	}
	out := []entry{
		{"etc/", 0o755, 0, nil}, {"etc/ssl/", 0o755, 0, nil}, {"etc/ssl/certs/", 0o755, 0, nil}, {"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil}, {"usr/bin/henge", 0o755, 0, binary}, {"usr/share/", 0o755, 0, nil}, {"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/henge/", 0o755, 0, nil}, {"var/", 0o755, 0, nil}, {"var/lib/", 0o755, 0, nil}, {"var/lib/henge/", 0o700, imageUser, nil},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil, passwd, imageUser)},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\nhenge:x:%d:\n", imageUser)},
	}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		out = append(out, entry{"usr/share/doc/henge/" + name, 0o644, 0, text})
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil { // a file of certificates has no place for what the authority may not do
			continue
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return append(out, entry{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, roots.Bytes()}), nil
}
