package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/tools/licences"
)

// billComponent is a component in the form of CycloneDX.
type billComponent struct {
	Type     string        `json:"type"`
	Ref      string        `json:"bom-ref"`
	Name     string        `json:"name"`
	Version  string        `json:"version"`
	Licences []billLicence `json:"licenses,omitempty"`
	URL      string        `json:"purl"`
	Hashes   []billHash    `json:"hashes,omitempty"`
}

type billLicence struct {
	Expression string `json:"expression"`
}

type billHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type billDependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

type bill struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Serial   string `json:"serialNumber"`
	Version  int    `json:"version"`
	Metadata struct {
		Timestamp string        `json:"timestamp"`
		Component billComponent `json:"component"`
	} `json:"metadata"`
	Components   []billComponent  `json:"components"`
	Dependencies []billDependency `json:"dependencies"`
}

// bill writes the bill of materials: what the binary contains, in the form of CycloneDX.
func (r *release) bill() error {
	modules, err := licences.Modules(r.root)
	if err != nil {
		return err
	}
	packages, _, err := licences.Packages(r.root)
	if err != nil {
		return err
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Timestamp = r.at.Format(time.RFC3339)
	own := "pkg:golang/github.com/hengedb/henge@" + r.version
	b.Metadata.Component = billComponent{
		Type: "application", Ref: own, Name: "henge", Version: r.version, Licences: []billLicence{{"Apache-2.0"}}, URL: own,
	}
	all := billDependency{Ref: own, On: []string{}}
	for _, c := range slices.Concat(modules, packages) {
		hashes, err := hashOf(c.Sum)
		if err != nil {
			return fmt.Errorf("reading the checksum of [%s]: %w", c.Name, err)
		}
		b.Components = append(b.Components, billComponent{
			Type: "library", Ref: c.URL, Name: c.Name, Version: c.Version, Licences: []billLicence{{c.Licence}}, URL: c.URL, Hashes: hashes,
		})
		all.On = append(all.On, c.URL)
	}
	b.Dependencies = []billDependency{all}
	// The number is that of what is in the bill, so that the same release has the same.
	sum := sha256.Sum256(fmt.Append(nil, r.version, r.commit, all.On))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	b.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "henge_"+r.version+".cdx.json"), append(text, '\n'), 0o644)
}

// hashOf reads a checksum of go.sum (of the files' list, which no tool can compare, so it is left
// out) or of package-lock.json.
func hashOf(sum string) ([]billHash, error) {
	text, ok := strings.CutPrefix(sum, "sha512-")
	if !ok {
		return nil, nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return []billHash{{"SHA-512", hex.EncodeToString(data)}}, nil
}
