package secret

import "strings"

// secretNames are the ends of names whose values are never shown, in lower case and without the
// marks that withoutMarks removes.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "secretkey", "secretaccesskey", "accesskey", "accesskeyid", "accountkey",
	"apikey",
	"privatekey", "keystorekey", "sharedaccesskey", "sharedaccesssignature", "token", "externalid", "userinfo",
	"authorization", "jaasconfig", "credential",
	"credentials", "amzsignature", "cookie",
}

// exactNames are secret as whole names only: other names end with them.
var exactNames = map[string]bool{"sig": true, "sas": true, "auth": true, "bearer": true}

// plainNames end like secrets and are none.
var plainNames = map[string]bool{"nexttoken": true, "continuationtoken": true, "pagetoken": true}

// holders are names of objects all of whose members are secrets: headers that are sent with
// requests.
var holders = map[string]bool{"requestheaders": true, "headers": true, "httpheaders": true}

var marks = strings.NewReplacer(".", "", "_", "", "-", "")

// withoutMarks returns a name in the form in which names are compared: ssl.key.password,
// SSL_KEY_PASSWORD and sslKeyPassword are one.
func withoutMarks(name string) string { return marks.Replace(strings.ToLower(name)) }

// IsName reports whether a member, argument or property with this name contains a secret.
func IsName(name string) bool {
	name = withoutMarks(name)
	if exactNames[name] {
		return true
	}
	if plainNames[name] {
		return false
	}
	for _, end := range secretNames {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// nature is what a name says of its value.
type nature uint8

const (
	plain    nature = iota
	whole           // the value is a secret
	each            // the values of its members are
	provider        // the values in its member "config" are
	keyed           // its member "key" is
)

func natureOf(parent nature, name string) nature {
	if parent == each {
		return whole
	}
	if IsProvider(name) {
		return provider
	}
	short := withoutMarks(name)
	switch {
	case parent == provider && short == "config":
		return each
	case parent == keyed && short == "key", IsName(name):
		return whole
	case holders[short]:
		return each
	case short == "properties": // of an object store, where the key of an account is just "key"
		return keyed
	}
	return plain
}

// hints are in every text that has something to mask; most texts have none of them.
var hints = []string{"pass", "pwd", "secret", "key", "token", "externalid", "user", "auth", "jaas", "credential", "sig", "sas",
	"cookie", "bearer", "headers", "config.provider", "://"}

// hintStarts says which two letters, in lower case, a hint begins with.
var hintStarts = func() (table [1 << 16]bool) {
	for _, h := range hints {
		table[int(h[0])<<8|int(h[1])] = true
	}
	return table
}()

// hinted reports whether a text may hold a secret. It is what all texts pay, so most of their bytes
// are looked up once and not compared.
func hinted(text string) bool {
	last := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if hintStarts[int(last)<<8|int(c)] {
			for _, h := range hints {
				if rest := text[i-1:]; len(rest) >= len(h) && strings.EqualFold(rest[:len(h)], h) {
					return true
				}
			}
		}
		last = c
	}
	return false
}
