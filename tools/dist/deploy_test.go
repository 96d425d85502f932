package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	composeloader "github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	kyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what the chart is rendered to")

// rendered returns what Helm makes of the chart with the values of a name, as helm template prints
// it, and fails where helm lint would. What it makes is in testdata, so that reviews see it.
func rendered(t *testing.T, name string) []byte {
	t.Helper()
	home := filepath.Join(repository(), "deploy", "helm")
	dir, golden := filepath.Join(home, "henge"), filepath.Join(home, "testdata", name+".yaml")
	values, err := chartutil.ReadValuesFile(filepath.Join(home, "testdata", name+".values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const namespace, version = "analytics", "1.30.0"
	kube, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	// The linter fills defaults in to what it is given.
	linted := lint.AllWithKubeVersionAndSchemaValidation(dir, maps.Clone(values), namespace, kube, false)
	for _, m := range linted.Messages {
		if m.Severity >= support.WarningSev {
			t.Errorf("helm lint: %s", m.Error())
		}
	}
	c, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := render(c, values, chartutil.ReleaseOptions{Name: "events", Namespace: namespace, Revision: 1, IsInstall: true}, kube)
	if err != nil {
		t.Fatal(err)
	}
	if notes := files["henge/templates/NOTES.txt"]; !strings.Contains(notes, "events-henge") {
		t.Errorf("the notes do not name the service: %q", notes)
	}
	delete(files, "henge/templates/NOTES.txt")
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil || len(hooks) > 0 {
		t.Fatalf("%d hooks, %v", len(hooks), err)
	}
	var out bytes.Buffer
	for _, m := range manifests {
		fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", m.Name, m.Content)
	}
	if *update {
		err = os.WriteFile(golden, out.Bytes(), 0o644)
	} else if text, readErr := os.ReadFile(golden); readErr != nil || !bytes.Equal(out.Bytes(), text) {
		t.Errorf("[%s] is not what helm renders (%v); go test ./dist -run Chart -update writes it", golden, readErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// render returns the files that Helm makes of a chart.
func render(c *chart.Chart, values map[string]any, of chartutil.ReleaseOptions, kube *chartutil.KubeVersion) (map[string]string, error) {
	all, err := chartutil.ToRenderValues(c, values, of, &chartutil.Capabilities{
		KubeVersion: *kube, APIVersions: chartutil.DefaultVersionSet, HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	})
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// Values that can't be are refused before anything is rendered.
func TestChartRefusesValues(t *testing.T) {
	t.Parallel()
	kube, err := chartutil.ParseKubeVersion("1.30.0")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"mode: several":                         "mode",
		"mode: cluster":                         "mode cluster needs postgresql.uri",
		"{mode: cluster, postgresql: {uri: x}}": "mode cluster needs s3.bucket",
		"roles: {router: {replicas: many}}":     "replicas",
	} {
		c, err := loader.LoadDir(filepath.Join(repository(), "deploy", "helm", "henge"))
		if err != nil {
			t.Fatal(err)
		}
		values, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = render(c, values, chartutil.ReleaseOptions{Name: "x", IsInstall: true}, kube)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// object is a part of an object of Kubernetes that tests look at.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	Spec       struct {
		Replicas       int
		ServiceName    string `yaml:"serviceName"`
		MaxUnavailable int    `yaml:"maxUnavailable"`
		Selector       any
		Template       struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace           int            `yaml:"terminationGracePeriodSeconds"`
				SecurityContext map[string]any `yaml:"securityContext"`
				Containers      []struct {
					Args []string
					Env  []struct {
						Name, Value string
						ValueFrom   struct {
							SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					Image          string
					StartupProbe   probe `yaml:"startupProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
					LivenessProbe  probe `yaml:"livenessProbe"`
					Lifecycle      struct {
						PreStop struct {
							Exec struct{ Command []string }
						} `yaml:"preStop"`
					}
					SecurityContext map[string]any `yaml:"securityContext"`
				}
			}
		}
		Claims []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func objects(t *testing.T, text []byte) map[string]object {
	t.Helper()
	out := map[string]object{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		key := o.Kind + " " + o.Metadata.Name
		if _, twice := out[key]; twice || o.APIVersion == "" || o.Metadata.Name == "" {
			t.Errorf("object [%s] is there twice, or has no version or name", key)
		}
		out[key] = o
	}
}

// strict decodes each object as its type in Kubernetes: members that it does not have, and values
// that are of another type, are failures.
func strict(t *testing.T, text []byte) {
	t.Helper()
	kinds := map[string]func() any{
		"v1 ConfigMap":                  func() any { return &core.ConfigMap{} },
		"v1 Service":                    func() any { return &core.Service{} },
		"apps/v1 StatefulSet":           func() any { return &apps.StatefulSet{} },
		"policy/v1 PodDisruptionBudget": func() any { return &policy.PodDisruptionBudget{} },
	}
	for _, one := range bytes.Split(text, []byte("\n---\n")) {
		var head object
		if err := yaml.Unmarshal(one, &head); err != nil {
			t.Fatal(err)
		}
		kind := kinds[head.APIVersion+" "+head.Kind]
		if kind == nil {
			t.Errorf("object [%s] is a [%s] of [%s], which no test knows", head.Metadata.Name, head.Kind, head.APIVersion)
			continue
		}
		if err := kyaml.UnmarshalStrict(one, kind()); err != nil {
			t.Errorf("%s [%s]: %v", head.Kind, head.Metadata.Name, err)
		}
	}
}

// settle has the binary read settings, which must be known and valid.
func settle(t *testing.T, what, properties string, environ ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "henge.properties")
	if err := os.WriteFile(file, []byte(properties), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(theRelease(t).host, "server", "--list-settings", "--config", file)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the settings of %s: %v\n%s\n%s", what, err, out, properties)
	}
}

// noSecrets looks for settings and variables that are secrets and have a value in the manifests
// rather than the name of where it is.
func noSecrets(t *testing.T, all map[string]object) {
	t.Helper()
	secret := regexp.MustCompile(`(?i)password|secret|token|accesskey|credential`)
	for key, o := range all {
		if o.Kind == "Secret" {
			t.Errorf("the chart has a Secret: [%s]", key)
		}
		for file, text := range o.Data {
			for line := range strings.Lines(text) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				if secret.MatchString(name) && !strings.HasPrefix(value, `{"type":"environment"`) {
					t.Errorf("[%s] has a secret in file [%s]: setting [%s]", key, file, name)
				}
			}
		}
		for _, c := range o.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				if secret.MatchString(e.Name) && (e.Value != "" || e.ValueFrom.SecretKeyRef.Name == "" || e.ValueFrom.SecretKeyRef.Key == "") {
					t.Errorf("[%s] has variable [%s] with a secret of its own", key, e.Name)
				}
			}
		}
	}
}

// The chart makes objects that belong together, with settings that the server knows.
func TestChart(t *testing.T) {
	for name, components := range map[string][]string{
		"single": {"single"}, "cluster": {"router", "broker", "coordinator", "overlord", "historical", "worker"},
	} {
		text := rendered(t, name)
		strict(t, text)
		all := objects(t, text)
		settings := all["ConfigMap events-henge"].Data["henge.properties"]
		settle(t, name, settings)
		noSecrets(t, all)
		if name == "cluster" && !strings.Contains(settings, `password={"type":"environment"`) {
			t.Errorf("the password of PostgreSQL is not taken from the environment:\n%s", settings)
		}
		if all["Service events-henge"].Kind == "" {
			t.Errorf("%s: clients have no service", name)
		}
		for _, c := range components {
			full := "events-henge-" + c
			set := all["StatefulSet "+full]
			if len(set.Spec.Template.Spec.Containers) != 1 || set.Spec.ServiceName != full || all["Service "+full].Kind == "" ||
				len(set.Spec.Claims) != 1 {
				t.Errorf("%s: set [%s] is incomplete: %+v", name, full, set)
				continue
			}
			pod := set.Spec.Template.Spec
			container := pod.Containers[0]
			if container.StartupProbe.HTTPGet.Path != "/readyz" || container.ReadinessProbe.HTTPGet.Path != "/readyz" ||
				container.LivenessProbe.HTTPGet.Path != "/healthz" {
				t.Errorf("%s: probes of [%s]: %+v", name, c, container)
			}
			if pod.SecurityContext["runAsNonRoot"] != true || container.SecurityContext["readOnlyRootFilesystem"] != true {
				t.Errorf("%s: [%s] may do too much: %v %v", name, c, pod.SecurityContext, container.SecurityContext)
			}
			if budget := all["PodDisruptionBudget "+full]; (set.Spec.Replicas > 1) != (budget.Spec.MaxUnavailable == 1) {
				t.Errorf("%s: [%s] has [%d] pods and the budget %+v", name, c, set.Spec.Replicas, budget)
			}
			if (name == "cluster") != slices.Contains(container.Args, c) {
				t.Errorf("%s: [%s] is started with %q", name, c, container.Args)
			}
			drain := container.Lifecycle.PreStop.Exec.Command
			if (c == "worker") != (len(drain) > 1 && drain[1] == "drain") || c == "worker" && pod.Grace <= 300 {
				t.Errorf("%s: [%s] is drained by %q in [%d] seconds", name, c, drain, pod.Grace)
			}
			if len(drain) > 0 {
				if out, err := exec.Command(theRelease(t).host, append(slices.Clone(drain[1:]), "--help")...).CombinedOutput(); err != nil {
					t.Errorf("henge %q: %v\n%s", drain, err, out)
				}
			}
		}
	}
}

// The compose file is valid by the schema of its kind, and its settings are known to the server.
func TestComposeFile(t *testing.T) {
	file := filepath.Join(repository(), "deploy", "compose", "compose.yaml")
	project, err := composeloader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: filepath.Dir(file), ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: types.Mapping{"HENGE_TAG": "0.2.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	roles := []string{}
	for _, name := range []string{"control", "data"} {
		s, ok := project.Services[name]
		if !ok {
			t.Fatalf("there is no service [%s]", name)
		}
		var environ []string
		for key, value := range s.Environment {
			environ = append(environ, key+"="+*value)
		}
		if s.Image != "henge:0.2.0" || !slices.Contains(environ, "service_host="+s.Hostname) {
			t.Errorf("[%s]: image [%s], %q", name, s.Image, environ)
		}
		settle(t, "service "+name, "", environ...)
		for _, word := range s.Command[1:] {
			if strings.HasPrefix(word, "--") {
				break
			}
			roles = append(roles, word)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("[%s] opens port [%s] to the network, and asks nobody for a password", name, p.Published)
			}
		}
	}
	slices.Sort(roles)
	if got := strings.Join(roles, " "); got != "broker coordinator historical overlord router worker" {
		t.Errorf("the services have the roles [%s]", got)
	}
	for _, name := range []string{"postgresql", "s3", "kafka", "bucket"} {
		if project.Services[name].Image == "" {
			t.Errorf("there is no service [%s]", name)
		}
	}
}
