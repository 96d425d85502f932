package role_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/server"
)

// securedByKeys are the settings of a process with users, roles and API keys.
var securedByKeys = []string{
	"service.auth.authenticatorChain=keys,users", "service.auth.authorizers=roles", "service.auth.authorizer.roles.type=basic",
	"service.auth.authenticator.keys.type=keys", "service.auth.authenticator.keys.authorizerName=roles",
	"service.auth.authenticator.users.type=basic", "service.auth.authenticator.users.authorizerName=roles",
	"service.auth.authenticator.users.initialAdminPassword=sesame", "service.auth.authenticator.users.initialInternalClientPassword=inside",
	"service.auth.authenticator.users.credentialIterations=1000",
	"service.escalator.type=basic", "service.escalator.internalClientUsername=service_system",
	"service.escalator.internalClientPassword=inside",
	"service.escalator.authorizerName=roles",
}

// caller sends requests as somebody.
type caller struct {
	t             *testing.T
	url           string
	authorization string
}

func userAt(t *testing.T, url, user, password string) caller {
	return caller{t, url, "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

func (c caller) do(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Close = true
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.authorization != "" {
		req.Header.Set("Authorization", c.authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// must sends a request that succeeds and decodes its answer.
func (c caller) must(method, path, body string, out any) {
	c.t.Helper()
	status, text := c.do(method, path, body)
	if status >= 300 || out != nil && json.Unmarshal([]byte(text), out) != nil {
		c.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

type madeKey struct {
	ID, Key, CreatedBy string
	Expires, LastUsed  *string
	Roles, Networks    []string
}

const keysPath = "/service-ext/access/keys"

// makeReader creates a role that may read states, as the administrator.
func makeReader(admin caller) {
	admin.t.Helper()
	const at = "/service-ext/basic-security/authorization/db/roles/roles/reader"
	admin.must("POST", at, "", nil)
	admin.must("POST", at+"/permissions", `[{"resource":{"type":"STATE","name":"STATE"},"action":"READ"}]`, nil)
}

func TestAPIKeysAtEveryDoor(t *testing.T) {
	n, c := started(t, role.Options{}, securedByKeys...)
	defer stop(t, n, c)
	admin := userAt(t, c.Addresses["router"], "admin", "sesame")
	makeReader(userAt(t, c.Addresses["coordinator"], "admin", "sesame"))
	var key madeKey
	admin.must("POST", keysPath, `{"roles":["reader"],"description":"probe","lifetime":"P1D"}`, &key)
	if key.CreatedBy != "admin" || key.Expires == nil || !strings.HasPrefix(key.Key, "hg_"+key.ID+"_") {
		t.Fatalf("%+v", key)
	}
	for name, url := range c.Addresses {
		for _, by := range []caller{{t, url, "Bearer " + key.Key}, userAt(t, url, "anybody", key.Key)} {
			if status, text := by.do("GET", "/status", ""); status != http.StatusOK {
				t.Errorf("the %s: %d %.100s", name, status, text)
			}
			if status, text := by.do("GET", "/service-ext/access/self", ""); status != http.StatusOK ||
				!strings.Contains(text, `"user":"hg_`+key.ID+`","authenticator":"keys","authorizer":"roles","roles":["reader"]`) {
				t.Errorf("the %s does not know whose key it is: %d %.200s", name, status, text)
			}
			if status, text := by.do("GET", keysPath, ""); status != http.StatusForbidden {
				t.Errorf("the %s shows the keys: %d %.100s", name, status, text)
			}
			if status, text := by.do("POST", keysPath, `{"roles":["admin"]}`); status != http.StatusForbidden {
				t.Errorf("the %s makes a key: %d %.100s", name, status, text)
			}
		}
		bad := caller{t, url, "Bearer " + key.Key[:len(key.Key)-4] + "aaaa"}
		status, text := bad.do("GET", keysPath, "")
		if status != http.StatusUnauthorized || !strings.Contains(text, "The API key is not valid.") {
			t.Errorf("the %s takes a wrong key: %d %.200s", name, status, text)
		}
	}
	reader := caller{t, c.Addresses["router"], "Bearer " + key.Key}
	if status, text := reader.do("GET", "/service/coordinator/v1/servers", ""); status != http.StatusOK {
		t.Errorf("the role of the key does not count: %d %s", status, text)
	}
	var all []map[string]any
	admin.must("GET", keysPath, "", &all)
	if len(all) != 1 || all[0]["lastUsed"] == nil || all[0]["key"] != nil || all[0]["hash"] != nil {
		t.Errorf("listed: %v", all)
	}
	var rotated madeKey
	admin.must("POST", keysPath+"/"+key.ID+"/rotate", `{"overlap":"PT1H"}`, &rotated)
	for _, text := range []string{key.Key, rotated.Key} {
		status, _ := (caller{t, c.Addresses["router"], "Bearer " + text}).do("GET", "/service/coordinator/v1/servers", "")
		if status != http.StatusOK {
			t.Errorf("status %d while both secrets are good", status)
		}
	}
	admin.must("DELETE", keysPath+"/"+key.ID, "", nil)
	for _, text := range []string{key.Key, rotated.Key} {
		status, _ := (caller{t, c.Addresses["router"], "Bearer " + text}).do("GET", "/service/coordinator/v1/servers", "")
		if status != http.StatusUnauthorized {
			t.Errorf("status %d after the key was revoked", status)
		}
	}
	var far madeKey
	admin.must("POST", keysPath, `{"roles":["reader"],"networks":["192.0.2.0/24"]}`, &far)
	if status, _ := (caller{t, c.Addresses["router"], "Bearer " + far.Key}).do("GET", "/status", ""); status != http.StatusUnauthorized {
		t.Errorf("status %d of a key from another network", status)
	}
	for body, want := range map[string]string{
		`{"roles":["r"],"role":"x"}`: "unknown field", `{}`: "at least one role", `[1]`: "can't be read",
		`{"roles":["r"]} 2`:                    "something follows",
		`{"roles":["r"],"lifetime":"90 days"}`: "90 days",
		`{"roles":["r"],"expires":"soon"}`:     "soon", `{"roles":["r"],"lifetime":"PT-1H"}`: "is over",
		`{"roles":["r"],"lifetime":"P1D","expires":"2100-01-01"}`: "exclude", `{"roles":["r"],"networks":["all"]}`: "[all]",
		`{"description":"` + strings.Repeat("x", 300<<10) + `"}`: "bytes",
	} {
		if status, text := admin.do("POST", keysPath, body); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%.60s: %d %.200s; want %q", body, status, text, want)
		}
	}
	for _, ask := range []string{"GET " + keysPath + "/x", "DELETE " + keysPath + "/x", "POST " + keysPath + "/x/rotate"} {
		method, path, _ := strings.Cut(ask, " ")
		if status, _ := admin.do(method, path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d", ask, status)
		}
	}
	if status, text := admin.do("POST", keysPath+"/"+far.ID+"/rotate", `{"overlap":"P60D"}`); status != http.StatusBadRequest {
		t.Errorf("overlap of 60 days: %d %s", status, text)
	}
}

func TestKeysWithoutAuthenticatorAreNotThere(t *testing.T) {
	s := server.Start(t, server.Options{})
	if status, text := get(t, s.Addresses["router"]+keysPath); status != http.StatusNotFound || !strings.Contains(text, "[keys]") {
		t.Errorf("%d %s", status, text)
	}
}

func TestProcessesOfAClusterKnowKeysAtOnce(t *testing.T) {
	settings := append([]string{"service.auth.authenticator.keys.trustedProxies=127.0.0.1"}, securedByKeys...)
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord"}, {"router"}, {"broker"}, {"historical"}}, Settings: settings,
	})
	admin := userAt(t, c.Nodes[0].Addresses["coordinator"], "admin", "sesame")
	makeReader(admin)
	var key madeKey
	admin.must("POST", keysPath, `{"roles":["reader"],"networks":["127.0.0.0/8"]}`, &key)
	eventually := func(want int) {
		t.Helper()
		for _, p := range c.Nodes {
			for role, url := range p.Addresses {
				c.Until(fmt.Sprintf("the %s answers %d", role, want), func() bool {
					status, _ := (caller{t, url, "Bearer " + key.Key}).do("GET", "/status", "")
					return status == want
				})
			}
		}
	}
	eventually(http.StatusOK)
	router := caller{t, c.Nodes[1].Addresses["router"], "Bearer " + key.Key}
	router.must("GET", "/service/v2/sql/engines", "", nil) // passed on to the Broker
	router.must("GET", "/service/coordinator/v1/servers", "", nil)
	admin.must("DELETE", keysPath+"/"+key.ID, "", nil)
	eventually(http.StatusUnauthorized)
}
