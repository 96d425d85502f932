package segment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
)

// Two files are the same if their footers are: a footer has the layout of its file and the checksum
// of every chunk of it. So the fingerprint of a file is a hash of its footer, which is known when
// the file is opened. Files in deep storage have it in their names, by which the metastore knows
// them: ...-<fingerprint>.segment. A file under the name of another one, whose own checksums are
// all right, is told by it.

// fingerprintBytes is how much of the SHA-256 of a footer is its fingerprint.
const fingerprintBytes = 16

// extension ends the names of segment files.
const extension = ".segment"

func fingerprintOf(footer []byte) string {
	sum := sha256.Sum256(footer)
	return hex.EncodeToString(sum[:fingerprintBytes])
}

// FileName returns the name of a file with this fingerprint, which begins with stem. If the
// fingerprint is empty, the name does not contain one.
func FileName(stem, fingerprint string) string {
	if fingerprint == "" {
		return stem + extension
	}
	return stem + "-" + fingerprint + extension
}

// FingerprintIn returns the fingerprint in a file name or in the last part of a path. It is empty
// if the name does not contain one, as in earlier releases.
func FingerprintIn(name string) string {
	stem, ok := strings.CutSuffix(path.Base(name), extension)
	at := strings.LastIndexByte(stem, '-') + 1
	if !ok || at == 0 || len(stem)-at != 2*fingerprintBytes || strings.Trim(stem[at:], "0123456789abcdef") != "" {
		return ""
	}
	return stem[at:]
}

// FingerprintAt returns the fingerprint of the file that a load spec, or the end of a load spec,
// names. It is empty if the name does not contain one.
func FingerprintAt(loadSpec string) string {
	at := strings.LastIndex(loadSpec, extension)
	if at < 0 {
		return ""
	}
	return FingerprintIn(loadSpec[:at+len(extension)])
}

// Located has a load spec. LoadSpecEnd returns the end of the load spec that is available without
// building all of it.
type Located interface {
	LoadSpecEnd() string
	LoadSpec() json.RawMessage
}

// FingerprintOf returns the fingerprint of the file that l names; empty if the name does not
// contain one.
func FingerprintOf(l Located) string {
	if fingerprint := FingerprintAt(l.LoadSpecEnd()); fingerprint != "" {
		return fingerprint
	}
	return FingerprintAt(string(l.LoadSpec()))
}

// CheckName reports corruption if the fingerprint in name is not that of the file of s.
func (s *Segment) CheckName(name string) error {
	want := FingerprintIn(name)
	if want == "" || want == s.info.Fingerprint {
		return nil
	}
	return (&CorruptError{File: s.name, Offset: -1, Reason: "it is the file of another segment: its fingerprint is [" + s.info.Fingerprint +
		"], and that of the segment is [" + want + "]"}).fault()
}
