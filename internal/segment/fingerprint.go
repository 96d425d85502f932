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

// FileName returns the name of a file with this fingerprint, which begins with stem. Without a
// fingerprint the name has none.
func FileName(stem, fingerprint string) string {
	if fingerprint == "" {
		return stem + extension
	}
	return stem + "-" + fingerprint + extension
}

// FingerprintIn returns the fingerprint of the file that name, or the last part of a path, stands
// for; empty: the name has none, as those that earlier releases wrote.
func FingerprintIn(name string) string {
	stem, ok := strings.CutSuffix(path.Base(name), extension)
	at := strings.LastIndexByte(stem, '-') + 1
	if !ok || at == 0 || len(stem)-at != 2*fingerprintBytes || strings.Trim(stem[at:], "0123456789abcdef") != "" {
		return ""
	}
	return stem[at:]
}

// FingerprintAt returns the fingerprint of the file that a load spec, or the end of one, names;
// empty: it names none.
func FingerprintAt(loadSpec string) string {
	at := strings.LastIndex(loadSpec, extension)
	if at < 0 {
		return ""
	}
	return FingerprintIn(loadSpec[:at+len(extension)])
}

// Located is what has a load spec. LoadSpecEnd is as much of the end of it as is there without
// making it whole.
type Located interface {
	LoadSpecEnd() string
	LoadSpec() json.RawMessage
}

// FingerprintOf returns the fingerprint of the file that l names; empty: it names none.
func FingerprintOf(l Located) string {
	if fingerprint := FingerprintAt(l.LoadSpecEnd()); fingerprint != "" {
		return fingerprint
	}
	return FingerprintAt(string(l.LoadSpec()))
}

// CheckName reports corruption if the file of s is not the one that name stands for.
func (s *Segment) CheckName(name string) error {
	want := FingerprintIn(name)
	if want == "" || want == s.info.Fingerprint {
		return nil
	}
	return (&CorruptError{File: s.name, Offset: -1, Reason: "it is the file of another segment: its fingerprint is [" + s.info.Fingerprint +
		"], and that of the segment is [" + want + "]"}).fault()
}
