package basic

import (
	"regexp"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for pattern, names := range map[string]map[string]bool{
		"wiki":          {"wiki": true, "wikipedia": false, "Wiki": false, "": false, "my wiki": false},
		"wiki.*":        {"wiki": true, "wikipedia": true, "mywiki": false, "wiki\nx": false},
		".*":            {"wiki": true, "": true},
		"a|b":           {"a": true, "b": true, "ab": false, "ax": false, "xb": false},
		"a|ab":          {"ab": true},
		".*_eu":         {"wiki_eu": true, "wiki_eu2": false},
		"^wiki$":        {"wiki": true, "wikipedia": false},
		`a\.b`:          {"a.b": true, "axb": false},
		"a.b":           {"a.b": true, "axb": true, "ab": false},
		"(?i)wiki":      {"WIKI": true, "wikis": false},
		"[ab]x":         {"ax": true, "cx": false},
		"[^ab]x":        {"ax": false, "cx": true},
		`\Qa.b[\E.*`:    {"a.b[c": true, "axb[": false},
		"":              {"": true, "a": false},
		"wiki|":         {"wiki": true, "": true, "x": false},
		`wiki\n`:        {"wiki": false},
		`\p{Lu}.*`:      {"Ünal": true, "ünal": false},
		"(wiki)":        {"wiki": true},
		"[a-c&]":        {"&": true, "b": true},
		`[\[]`:          {"[": true},
		"naïve":         {"naïve": true, "naive": false},
		"a{2}":          {"aa": true, "a": false},
		"(a+)+b":        {strings.Repeat("a", 5000) + "c": false},
		"x.*y.*z":       {"x1y2z": true, "xyz": true, "xzy": false},
		"tenant-[0-9]+": {"tenant-17": true, "tenant-": false, "tenant-17a": false},
	} {
		p, err := compile(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for name, want := range names {
			if p.matches(name) != want {
				t.Errorf("[%s] matches [%.40s]: %v", pattern, name, !want)
			}
		}
	}
	for _, pattern := range []string{
		"(", ")", "[", "*", "a)(b", "(?=a)", "(?!a).*", "(?<=a)b", "(?<!a)b", `(a)\1`, "a++", "[a-z&&[^b]]", "[a[b]]", "[]a]", "a{1001}", `\`,
		`\k<n>`, "(?>a)", strings.Repeat("a", maxPattern+1), "[[:alpha:]]", "[a&&b]",
	} {
		if _, err := compile(pattern); err == nil {
			t.Errorf("[%.40s] compiles", pattern)
		}
	}
}

// FuzzPattern holds what is matched without an automaton, or after a look at the ends of a name, to
// what the automaton says.
func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{"wiki.*", "a|b", ".*", "^a.*b$", "(a|b)c", "a.*b|c", "(?i)ab", "a?b", "", "x$"} {
		f.Add(pattern, "wiki")
		f.Add(pattern, "acb")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := compile(pattern)
		if err != nil {
			return
		}
		whole, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			return
		}
		if got, want := p.matches(name), whole.MatchString(name); got != want {
			t.Errorf("[%s] matches [%q]: %v", pattern, name, got)
		}
	})
}

func TestGroupPatterns(t *testing.T) {
	const admins = "CN=admins,OU=Groupings,DC=corp,DC=com"
	for pattern, groups := range map[string]map[string]bool{
		"*,OU=Groupings,DC=corp,DC=com": {
			admins: true, "OU=Groupings,DC=corp,DC=com": true, "cn=a,ou=x,ou=groupings,dc=corp,dc=com": true, "CN=a,OU=Other,DC=corp,DC=com": false,
			"CN=a,OU=MyGroupings,DC=corp,DC=com": false,
		},
		"CN=admins,*": {admins: true, "cn=Admins , ou=x": true, "CN=admins2,OU=x": false, "CN=a,CN=admins,OU=x": false, "CN=admins": true},
		admins: {
			admins: true, "cn = ADMINS, ou=groupings ,dc=corp,dc=com": true,
			"CN=admins,OU=Groupings,DC=corp": false, "x" + admins: false,
		},
		` * , DC=com`:      {admins: true, "DC=org": false},
		`CN=a\,b,DC=com`:   {`cn=a\2cb,dc=com`: true, `cn="a,b",dc=com`: true, "cn=a,b,dc=com": false},
		"CN=b+OU=a,DC=com": {"ou=A+cn=B,dc=com": true, "cn=b,ou=a,dc=com": false},
		`CN=J\C3\BCrgen,*`: {"CN=jürgen,DC=com": true},
		`CN=a\ ,DC=com`:    {`CN=a\20,DC=com`: true, "CN=a ,DC=com": false},
		"*,1.3.6.1=x":      {"cn=a,1.3.6.1=X": true},
		"CN=with \\*,OU=staff,DC=example,DC=com ": {`CN=with *,OU=staff,DC=example,DC=com`: true},
	} {
		p, err := parseGroupPattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for group, want := range groups {
			parts, err := parseDN(group)
			if (err == nil && p.matches(parts)) != want {
				t.Errorf("[%s] matches [%s]: %v (%v)", pattern, group, !want, err)
			}
		}
	}
	for _, pattern := range []string{"*", "", "*,", ",*", "admins", "*DC=com", "CN=a*", "CN=a,,DC=b", "*,CN=a,*", "=a", `CN=a\`, `CN="a`,
		"a b=c"} {
		if _, err := parseGroupPattern(pattern); err == nil || err.Error() == "" ||
			!strings.Contains(err.Error(), "Configuration problem - Invalid groupMapping '"+pattern+"'") {
			t.Errorf("[%s]: %v", pattern, err)
		}
	}
}

func FuzzParseDN(f *testing.F) {
	f.Add(`CN=a\,b+OU="x,y",DC=com`)
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = parseDN(text)           // it must not panic
		_, _ = parseGroupPattern(text) // likewise
	})
}

func TestParsePermissions(t *testing.T) {
	const full = `[{"resourceAction":{"resource":{"name":"wiki.*","type":"DATASOURCE"},"action":"READ"},"resourceNamePattern":"wiki.*"}]`
	for _, tt := range []struct{ in, want string }{
		{`[]`, `[]`},
		{`null`, `[]`},
		{`[{"resource":{"name":"wiki.*","type":"DATASOURCE"},"action":"READ"}]`, full},
		{full, full},
		{
			`[{"resourceAction":{"resource":{"name":"a<b","type":"NEW"},"action":"WRITE"},"resourceNamePattern":"x","more":1}]`,
			`[{"resourceAction":{"resource":{"name":"a<b","type":"NEW"},"action":"WRITE"},"resourceNamePattern":"a<b"}]`,
		},
		{
			`[{"resource":{"name":"o","type":"DATASOURCE"},"action":"READ","policy":{"rows":"a = 'x'","columns":{"b":{"hide":true}}}}]`,
			`[{"resourceAction":{"resource":{"name":"o","type":"DATASOURCE"},"action":"READ",` +
				`"policy":{"rows":"a = 'x'","columns":{"b":{"hide":true}}}},"resourceNamePattern":"o"}]`,
		},
		{
			`[{"resource":{"name":"o","type":"VIEW"},"action":"READ","policy":null}]`,
			`[{"resourceAction":{"resource":{"name":"o","type":"VIEW"},"action":"READ"},"resourceNamePattern":"o"}]`,
		},
	} {
		got, err := ParsePermissions([]byte(tt.in))
		shown, _ := marshal(got) // of these types it can't fail
		if err != nil || string(shown) != tt.want {
			t.Errorf("%s\n got %s %v\nwant %s", tt.in, shown, err, tt.want)
		}
		again, err := ParsePermissions(shown)
		if twice, _ := marshal(again); err != nil || string(twice) != tt.want {
			t.Errorf("what is shown can't be sent: %s, %v", twice, err)
		}
	}
}

func TestParsePermissionsRefuses(t *testing.T) {
	const begin = `[{"resource":{"name":"a","type":"DATASOURCE"},"action":`
	for _, tt := range []struct{ in, want string }{
		{`{}`, "The permissions are not a JSON array"},
		{`[1]`, "Permission [0] can't be read"},
		{`[{}]`, "Permission [0] can't be read: it needs a [resource] with a [name] and a [type]"},
		{`[{"resource":{"name":"a"},"action":"READ"}]`, "it needs a [resource]"},
		{`[{"resource":{"name":"a","type":""},"action":"READ"}]`, "the [type] of its resource is empty"},
		{begin + `"read"}]`, "value [read] of [action] is unknown; use READ or WRITE"},
		{`[{"resource":{"name":"a","type":"STATE"}}]`, "value [] of [action] is unknown"},
		{
			`[{"resource":{"name":"(?!a).*","type":"STATE"},"action":"READ"}]`,
			"Invalid permission, resource name regex[(?!a).*] does not compile.",
		},
		{begin + `"WRITE","policy":{"rows":"a"}}]`, "does not go with WRITE of type [DATASOURCE]"},
		{`[{"resource":{"name":"a","type":"STATE"},"action":"READ","policy":{"rows":"a"}}]`, "does not go with READ of type [STATE]"},
		{begin + `"READ","policy":{}}]`, "neither [rows] nor [columns]"},
		{begin + `"READ","policy":{"row":"a"}}]`, "its [policy] can't be read"},
		{begin + `"READ","policy":{"columns":{"c":{}}}}]`, "column [c] of its [policy] has neither [hide] nor [mask]"},
		{begin + `"READ","policy":{"columns":{"c":{"hide":true,"mask":"1"}}}}]`, "column [c] of its [policy] has both [hide] and [mask]"},
	} {
		if _, err := ParsePermissions([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.in, err)
		}
	}
}
