package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magiconair/properties"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Settings are the settings of one process. They don't change after Load.
type Settings struct {
	values  map[string]string // canonical keys
	sources map[string]string // where each value came from, for messages
	aliases []string
	// locations are those of the segment cache.
	locations []Location
}

// Sources are the sources of settings. Later members take precedence.
type Sources struct {
	// Files are properties files in Druid's syntax.
	Files []string
	// Environ contains KEY=value pairs. A variable service_broker_plaintextPort sets
	// service.broker.plaintextPort.
	Environ []string
	// Flags are key=value pairs from the command line.
	Flags []string
}

// Load reads and validates all sources. Its error names every unknown key, with the most similar
// known key, and every value of a wrong type.
func Load(src Sources) (*Settings, error) {
	s := &Settings{values: map[string]string{}, sources: map[string]string{}}
	type entry struct{ key, value, from, at string } // at is from with the line of a file
	var entries []entry
	for _, file := range src.Files {
		l := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			return nil, fault.InvalidInput("Settings file [%s] does not exist", file)
		}
		if at, ok := errors.AsType[*os.PathError](err); ok {
			err = at.Err
		}
		var p *properties.Properties
		if err == nil {
			p, err = l.LoadBytes(text)
		}
		if err != nil {
			return nil, fault.InvalidInput("Settings file [%s] can't be read: %v", file, err)
		}
		for _, k := range p.Keys() {
			v, _ := p.Get(k)
			entries = append(entries, entry{k, v, "file " + file, "file " + file + lineOf(string(text), k)})
		}
	}
	for _, kv := range src.Environ {
		k, v, _ := strings.Cut(kv, "=")
		if product, _, ok := strings.Cut(k, "_"); ok && product == strings.ToLower(product) && product != "" {
			from := "environment variable " + k
			entries = append(entries, entry{strings.ReplaceAll(k, "_", "."), v, from, from})
		}
	}
	for _, kv := range src.Flags {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, fault.InvalidInput("Setting [%s] has no value; write it as key=value", kv)
		}
		entries = append(entries, entry{k, v, "command line", "command line"})
	}
	for _, e := range entries { // aliases first: they decide which other names are ours
		if e.key == "service.api.aliases" {
			list, err := parseList(e.value)
			if err != nil {
				return nil, fault.InvalidInput("Value [%s] of setting [%s] (%s) %v", e.value, e.key, e.at, err)
			}
			s.aliases = list
		}
	}
	var problems []string
	for _, e := range entries {
		key, ours := s.canonical(e.key)
		if !ours {
			if strings.HasPrefix(e.from, "environment") {
				continue // the environment is full of names that are not settings
			}
			problems = append(problems, fmt.Sprintf("Setting [%s] (%s) is unknown%s", e.key, e.at, hint(e.key)))
			continue
		}
		p := find(key)
		if p == nil {
			problems = append(problems, fmt.Sprintf("Setting [%s] (%s) is unknown%s", e.key, e.at, hint(key)))
			continue
		}
		if err := check(p, e.value); err != nil {
			shown := "[" + e.value + "]"
			if p.Secret {
				shown = "(hidden)"
			}
			problems = append(problems, fmt.Sprintf("Value %s of setting [%s] (%s) %v", shown, e.key, e.at, err))
			continue
		}
		if err := checkRange(p, e.value); err != nil {
			problems = append(problems, fmt.Sprintf("Value [%s] of setting [%s] (%s) %v", e.value, e.key, e.at, err))
			continue
		}
		s.values[key], s.sources[key] = e.value, e.from
	}
	if err := s.locate(); err != nil {
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		return nil, fault.InvalidInput("%s", strings.Join(problems, "\n"))
	}
	return s, nil
}

// lineOf tells on which line of a settings file a key stands, behind the name of the file; "" where
// it is not written as it is read.
func lineOf(text, key string) (at string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		rest, found := strings.CutPrefix(strings.TrimLeft(line, " \t"), key)
		if rest = strings.TrimRight(rest, "\r\n"); found && (rest == "" || strings.ContainsAny(rest[:1], " \t=:")) {
			at = fmt.Sprintf(", line %d", n) // the last one counts
		}
	}
	return at
}

// Location is a directory of the segment cache.
type Location struct {
	Path string
	// MaxBytes is the maximum size of its segments; 0: not set.
	MaxBytes int64
	// FreePercent is the percentage of its file system that must remain free, 0 to 100.
	FreePercent float64
}

// Locations returns the directories of the segment cache, if service.segmentCache.locations is set.
func (s *Settings) Locations() []Location { return s.locations }

// locate reads service.segmentCache.locations. Their sizes are service.server.maxSize, where that
// is not set by itself.
func (s *Settings) locate() error {
	const key, directory, most = "service.segmentCache.locations", "service.segmentCache.directory", "service.server.maxSize"
	var list []struct {
		Path        string          `json:"path"`
		MaxSize     json.RawMessage `json:"maxSize"`
		FreePercent float64         `json:"freeSpacePercent"`
	}
	text, set := s.values[key]
	if !set {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fmt.Errorf("value [%s] of setting [%s] (%s) is not a list of {\"path\":..,\"maxSize\":..}", text, key, s.sources[key])
	}
	sum, bounded := int64(0), len(list) > 0
	for i, l := range list {
		at := Location{Path: l.Path, FreePercent: l.FreePercent}
		about := fmt.Sprintf("in location [%d] of setting [%s] (%s)", i, key, s.sources[key])
		if l.Path == "" {
			return fmt.Errorf("[path] is missing %s", about)
		}
		if slices.ContainsFunc(s.locations, func(o Location) bool { return filepath.Clean(o.Path) == filepath.Clean(l.Path) }) {
			return fmt.Errorf("path [%s] occurs twice in setting [%s] (%s)", l.Path, key, s.sources[key])
		}
		if l.FreePercent < 0 || l.FreePercent > 100 {
			return fmt.Errorf("value [%g] of [freeSpacePercent] %s is not between 0 and 100", l.FreePercent, about)
		}
		size, err := strings.Trim(string(l.MaxSize), `"`), error(nil)
		if size != "" {
			if at.MaxBytes, err = parseBytes(size, 1<<40); err != nil {
				return fmt.Errorf("value [%s] of [maxSize] %s is not a number of bytes: %w", size, about, err)
			}
		}
		bounded = bounded && at.MaxBytes > 0
		if sum += at.MaxBytes; sum < 0 {
			sum = math.MaxInt64
		}
		s.locations = append(s.locations, at)
	}
	if from, set := s.sources[directory]; set && len(list) > 0 && s.values[directory] != "" {
		return fmt.Errorf("settings [%s] (%s) and [%s] (%s) both say where the segment cache is: leave one out", directory, from, key, s.sources[key])
	}
	if _, set := s.values[most]; !set && bounded {
		s.values[most], s.sources[most] = strconv.FormatInt(sum, 10), s.sources[key]
	}
	return nil
}

// canonical returns key with an alias at its start replaced by "service", and whether the key
// belongs to this product at all.
func (s *Settings) canonical(key string) (string, bool) {
	product, rest, ok := strings.Cut(key, ".")
	if !ok {
		return key, false
	}
	if product != "service" && !slices.Contains(s.aliases, product) {
		return key, false
	}
	key = "service." + rest
	if now, ok := renamed[key]; ok {
		return now, true
	}
	return key, true
}

// renamed are settings under the names that they had before.
var renamed = map[string]string{
	"service.ingest.local.allowedPaths": "service.ingestion.local.allowedPaths",
	"service.ingest.http.allowPrivate":  "service.ingestion.http.allowPrivate",
}

// Idle returns the sorted keys of the set properties that have no effect.
func (s *Settings) Idle() []string {
	var out []string
	for key := range s.values {
		if p := find(key); slices.ContainsFunc(Accepted, func(a Property) bool { return a.Key == p.Key }) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// Files returns the names of the files that were read.
func (s *Settings) Files() []string {
	var out []string
	for _, from := range s.sources {
		if file, ok := strings.CutPrefix(from, "file "); ok && !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	slices.Sort(out)
	return out
}

// Aliases returns the additional product names.
func (s *Settings) Aliases() []string { return s.aliases }

// Text returns the value of key, or its default. It panics if the list does not contain the key,
// because that is a bug of the caller.
func (s *Settings) Text(key string) string {
	p := find(key)
	if p == nil {
		panic("config: undeclared property " + key)
	}
	if v, ok := s.values[key]; ok {
		return v
	}
	return p.Default
}

// IsSet reports whether a source sets key.
func (s *Settings) IsSet(key string) bool { _, ok := s.values[key]; return ok }

// Source returns the source of the value of key, such as "file common.properties"; empty: it is the
// default.
func (s *Settings) Source(key string) string { return s.sources[key] }

// Set returns the sorted keys that a source sets.
func (s *Settings) Set() []string { return slices.Sorted(maps.Keys(s.values)) }

// Bool returns a Bool property.
func (s *Settings) Bool(key string) bool { return s.Text(key) == "true" }

// Int returns an Int property.
func (s *Settings) Int(key string) int64 { n, _ := strconv.ParseInt(s.Text(key), 10, 64); return n }

// Bytes returns a Bytes property in bytes; shares are of machineMemory.
func (s *Settings) Bytes(key string, machineMemory int64) int64 {
	n, _ := parseBytes(s.Text(key), machineMemory)
	return n
}

// Duration returns a Duration property.
func (s *Settings) Duration(key string) time.Duration {
	d, _ := parseDuration(s.Text(key))
	return d
}

// List returns a List property.
func (s *Settings) List(key string) []string { l, _ := parseList(s.Text(key)); return l }

// WithPrefix returns the set properties whose keys begin with prefix. The keys of the result lack
// the prefix.
func (s *Settings) WithPrefix(prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range s.values {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	return out
}

// Visible returns all set properties except hidden and secret ones, for /status/properties.
func (s *Settings) Visible() map[string]string {
	hidden := s.List("service.server.hiddenProperties")
	out := map[string]string{}
next:
	for k, v := range s.values {
		if p := find(k); p != nil && p.Secret {
			continue
		}
		for _, h := range hidden {
			if strings.Contains(strings.ToLower(k), strings.ToLower(h)) {
				continue next
			}
		}
		out[k] = shown(v)
	}
	return out
}

// shown returns a value with the secrets in it masked, as the user and password of an address.
func shown(v string) string {
	if masked := secret.MaskJSONText(v); strings.Contains(masked, secret.Masked) {
		return masked
	}
	return v // as it was written
}

// check says what is wrong with a value, as the end of a sentence that begins with it.
func check(p *Property, v string) error {
	switch p.Kind {
	case Bool:
		if v != "true" && v != "false" {
			return errors.New("is neither true nor false")
		}
	case Int:
		if _, err := strconv.ParseInt(v, 10, 64); errors.Is(err, strconv.ErrRange) {
			return errors.New("is too large or too small")
		} else if err != nil {
			return errors.New("is not a whole number")
		}
	case Bytes:
		if _, err := parseBytes(v, 1<<40); err != nil {
			return fmt.Errorf("is not a size: %w", err)
		}
	case Duration:
		if _, err := parseDuration(v); err != nil {
			return fmt.Errorf("is not a duration: %w", err)
		}
	case List:
		_, err := parseList(v)
		return err
	case JSON:
		if !json.Valid([]byte(v)) {
			return errors.New("is not JSON" + jsonPlace(v))
		}
	}
	return nil
}

// jsonPlace says where a text stops to be JSON.
func jsonPlace(text string) string {
	var any json.RawMessage
	at, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(text), &any))
	if !ok || at.Offset < 1 || at.Offset > int64(len(text)) {
		return ""
	}
	if strings.Contains(at.Error(), "unexpected end") {
		return ": it ends too early"
	}
	return fmt.Sprintf(": character [%d] is not expected there", utf8.RuneCountInString(text[:at.Offset-1])+1)
}

func parseDuration(v string) (time.Duration, error) {
	p, err := chrono.ParsePeriod(v)
	if err != nil {
		return 0, errors.New("write an ISO 8601 period such as PT30S, PT5M or P1D")
	}
	ms, ok := p.StandardMillis()
	if !ok {
		return 0, errors.New("months and years have no fixed length")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func parseList(v string) ([]string, error) {
	v = strings.TrimSpace(v)
	if v == "" {
		return nil, nil
	}
	if strings.HasPrefix(v, "[") {
		var out []string
		if err := json.Unmarshal([]byte(v), &out); err != nil {
			return nil, errors.New(`is not a list: write ["a","b"], or a,b`)
		}
		return out, nil
	}
	out := strings.Split(v, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out, nil
}

var byteUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15},
	{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"B", 1},
}

func parseBytes(v string, whole int64) (int64, error) {
	v = strings.TrimSpace(v)
	if share, ok := strings.CutSuffix(v, "%"); ok {
		f, err := strconv.ParseFloat(share, 64)
		if err != nil || f <= 0 || f > 100 {
			return 0, errors.New("a share is more than 0% and at most 100%")
		}
		return int64(float64(whole) * f / 100), nil
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return n, nil
	}
	for _, u := range byteUnits {
		num, ok := strings.CutSuffix(strings.ToLower(v), strings.ToLower(u.suffix))
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil || f < 0 || f*u.factor > math.MaxInt64 {
			break
		}
		return int64(f * u.factor), nil
	}
	return 0, fmt.Errorf("write a number with an optional unit such as KiB, MiB, GiB, KB, MB, GB or %%")
}

// otherRoles are what else the role that runs tasks is called.
var otherRoles = []string{"service.worker.", "service.middleManager.", "service.peon."}

// hint names the known key nearest to an unknown one: that of the same role under the name that it
// has here, or the one spelled most alike.
func hint(key string) string {
	for _, name := range otherRoles {
		if rest, of := strings.CutPrefix(key, name); of && find("service.indexer."+rest) != nil {
			return "; did you mean [service.indexer." + rest + "]?"
		}
	}
	known := make([]string, len(Properties))
	for i := range Properties { // not those that change nothing
		known[i] = Properties[i].Key
	}
	if best := fault.Nearest(key, known); best != "" {
		return "; did you mean [" + best + "]?"
	}
	return ""
}
