package keystore

import (
	"crypto/tls"
	"regexp"
	"slices"
	"strings"
)

// Choice limits the versions of TLS and its ciphers, by the names that Java has for them.
type Choice struct {
	IncludeProtocols, ExcludeProtocols []string
	// IncludeCiphers and ExcludeCiphers are names, or patterns of whole names.
	IncludeCiphers, ExcludeCiphers []string
	Names                          ChoiceNames
}

// ChoiceNames are what the settings of a Choice are called.
type ChoiceNames struct {
	IncludeProtocols, ExcludeProtocols, IncludeCiphers, ExcludeCiphers string
}

// versions are the versions of TLS that are spoken, by Java's names.
var versions = []struct {
	name string
	id   uint16
}{{"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13}}

// oldVersions are names that settings may have and that are not spoken.
var oldVersions = []string{"SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.0", "TLSv1.1"}

// version returns a version by its name; 0: it is not spoken any more.
func version(name, property string) (uint16, error) {
	for _, v := range versions {
		if strings.EqualFold(name, v.name) {
			return v.id, nil
		}
	}
	if slices.ContainsFunc(oldVersions, func(o string) bool { return strings.EqualFold(o, name) }) {
		return 0, nil
	}
	return 0, problem(property, "protocol [%s] is unknown; use TLSv1.2 or TLSv1.3", name)
}

// MinVersion returns the least version that a client speaks, as service.client.https.protocol names
// it.
func MinVersion(name, property string) (uint16, error) {
	switch strings.ToUpper(name) {
	case "", "TLS", "SSL":
		return tls.VersionTLS12, nil
	}
	v, err := version(name, property)
	return max(v, tls.VersionTLS12), err
}

// apply sets the versions and ciphers of a configuration.
func (c *Choice) apply(to *tls.Config) error {
	var spoken []uint16
	for _, v := range versions {
		spoken = append(spoken, v.id)
	}
	for _, list := range []struct {
		names    []string
		property string
		include  bool
	}{{c.IncludeProtocols, c.Names.IncludeProtocols, true}, {c.ExcludeProtocols, c.Names.ExcludeProtocols, false}} {
		if len(list.names) == 0 {
			continue
		}
		var named []uint16
		for _, name := range list.names {
			v, err := version(name, list.property)
			if err != nil {
				return err
			}
			named = append(named, v)
		}
		spoken = slices.DeleteFunc(spoken, func(v uint16) bool { return slices.Contains(named, v) != list.include })
		if len(spoken) == 0 {
			return problem(list.property, "no protocol is left; TLSv1.2 and TLSv1.3 are spoken")
		}
	}
	return c.ciphers(to, spoken)
}

// ciphers leaves out those that are not wanted. Those of TLS 1.3 can't be chosen one by one: with
// none of them wanted TLS 1.3 is not spoken.
func (c *Choice) ciphers(to *tls.Config, spoken []uint16) error {
	to.MinVersion, to.MaxVersion = spoken[0], spoken[len(spoken)-1]
	if len(c.IncludeCiphers) == 0 && len(c.ExcludeCiphers) == 0 {
		return nil
	}
	include, err := patterns(c.IncludeCiphers, c.Names.IncludeCiphers)
	if err != nil {
		return err
	}
	exclude, err := patterns(c.ExcludeCiphers, c.Names.ExcludeCiphers)
	if err != nil {
		return err
	}
	wanted := func(name string) bool {
		return (len(include) == 0 || matches(include, name)) && !matches(exclude, name)
	}
	var old []uint16
	modern, unwanted := 0, ""
	for _, s := range tls.CipherSuites() {
		switch is13 := slices.Contains(s.SupportedVersions, tls.VersionTLS13); {
		case is13 && wanted(s.Name):
			modern++
		case is13:
			unwanted = s.Name
		case wanted(s.Name):
			old = append(old, s.ID)
		}
	}
	property := c.Names.IncludeCiphers
	if len(c.IncludeCiphers) == 0 {
		property = c.Names.ExcludeCiphers
	}
	spoken = slices.DeleteFunc(slices.Clone(spoken), func(v uint16) bool {
		return v == tls.VersionTLS12 && len(old) == 0 || v == tls.VersionTLS13 && modern == 0
	})
	switch {
	case len(spoken) == 0:
		return problem(property, "no cipher suite is left for the protocols that are spoken")
	case matches(exclude, unwanted) && slices.Contains(spoken, tls.VersionTLS13):
		return problem(c.Names.ExcludeCiphers, "cipher suite [%s] is one of TLSv1.3, which are all on or all off",
			unwanted)
	}
	to.MinVersion, to.MaxVersion, to.CipherSuites = spoken[0], spoken[len(spoken)-1], old
	return nil
}

// patterns reads names of ciphers and patterns of them.
func patterns(list []string, property string) ([]*regexp.Regexp, error) {
	out := make([]*regexp.Regexp, len(list))
	for i, text := range list {
		var err error
		// Old Java names begin with SSL_.
		if out[i], err = regexp.Compile("^(?:" + strings.Replace(text, "SSL_", "TLS_", 1) + ")$"); err != nil {
			return nil, problem(property, "[%s] is neither the name of a cipher suite nor a pattern", text)
		}
	}
	return out, nil
}

func matches(list []*regexp.Regexp, name string) bool {
	return slices.ContainsFunc(list, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}
