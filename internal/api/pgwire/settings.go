package pgwire

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
)

// reported are the settings that clients are told when they change.
var reported = []string{"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby",
	"integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version", "session_authorization",
	"standard_conforming_strings", "TimeZone"}

// contextPrefix begins the settings that are parameters of the query context.
const contextPrefix = "henge."

// settings are those of a session, by lower-case name.
type settings struct {
	session *session
	// shared are the defaults of all sessions, defaults those of this one.
	shared, defaults map[string]string
	names            map[string]string
	values           map[string]string
	zone             *time.Location
	// locals are values before SET LOCAL, saved all before BEGIN.
	locals map[string]*string
	saved  map[string]string
}

// serverVersion is the PostgreSQL version that the server reports.
const (
	serverVersion       = "15.0"
	serverVersionNumber = "150000"
)

func newSettings(c *session) *settings {
	shared, names := pgcatalog.DefaultSettings()
	own := map[string]string{
		"application_name": "", "client_encoding": "UTF8", "server_encoding": "UTF8", "server_version": serverVersion,
		"server_version_num": serverVersionNumber, "timezone": "UTC", "datestyle": "ISO, MDY", "intervalstyle": "postgres", "is_superuser": "off",
		"session_authorization": c.user, "search_path": `"$user", public`, "transaction_isolation": "repeatable read",
		"default_transaction_isolation": "repeatable read", "transaction_read_only": "off", "default_transaction_read_only": "off",
		"standard_conforming_strings": "on", "integer_datetimes": "on", "in_hot_standby": "off", "ssl": "off", "statement_timeout": "0",
		"extra_float_digits": "1", "max_identifier_length": "63", "lc_collate": "C.UTF-8", "lc_ctype": "C.UTF-8", "role": "none",
	}
	if c.tls != nil {
		own["ssl"] = "on"
	}
	return &settings{
		session: c, shared: shared, defaults: own, names: names, values: map[string]string{}, zone: time.UTC, locals: map[string]*string{},
	}
}

func pgLower(s string) string {
	if strings.HasPrefix(s, contextPrefix) { // keys of the context have capital letters
		return s
	}
	return strings.ToLower(s)
}

// get returns a setting.
func (s *settings) get(name string) (string, bool) {
	if v, ok := s.values[name]; ok {
		return v, true
	}
	if v, ok := s.defaults[name]; ok {
		return v, true
	}
	v, ok := s.shared[name]
	return v, ok
}

// name is how a setting is written.
func (s *settings) name(name string) string {
	if n := s.names[name]; n != "" {
		return n
	}
	return name
}

// fixed are the settings that nobody sets.
var fixed = map[string]bool{
	"server_version": true, "server_version_num": true, "server_encoding": true, "integer_datetimes": true, "is_superuser": true,
	"max_identifier_length": true, "block_size": true, "in_hot_standby": true, "lc_collate": true, "lc_ctype": true, "ssl": true, "port": true,
	"max_connections": true, "max_index_keys": true, "max_function_args": true, "shared_buffers": true, "wal_block_size": true,
}

// check refuses values that would not be obeyed, and returns how they are shown.
func (s *settings) check(name, value string) (string, error) {
	bad := failure("22023", "invalid value for parameter \"%s\": \"%s\"", s.name(name), value)
	switch name {
	case "client_encoding":
		switch strings.ToUpper(strings.NewReplacer("-", "", "_", "", "'", "").Replace(value)) {
		case "UTF8", "UNICODE", "SQLASCII":
			return "UTF8", nil
		}
		return "", bad.withHint("Only UTF8 is supported.")
	case "timezone":
		if _, err := zoneOf(value); err != nil {
			return "", bad
		}
	case "standard_conforming_strings":
		if on := strings.ToLower(value); on != "on" && on != "true" && on != "1" && on != "yes" {
			return "", failure("0A000", "standard_conforming_strings can't be turned off")
		}
		return "on", nil
	case "datestyle":
		style := strings.ToUpper(value)
		if !strings.Contains(style, "ISO") && strings.ContainsAny(style, "SPG") && (strings.Contains(style, "SQL") || strings.Contains(style,
			"POSTGRES") || strings.Contains(style, "GERMAN")) {
			return "", failure("0A000", "DateStyle [%s] is not supported; dates are written as ISO", value)
		}
		return "ISO, MDY", nil
	case "intervalstyle":
		if !strings.EqualFold(value, "postgres") {
			return "", failure("0A000", "IntervalStyle [%s] is not supported", value)
		}
	case "bytea_output":
		if !strings.EqualFold(value, "hex") {
			return "", failure("0A000", "bytea_output [%s] is not supported", value)
		}
	case "statement_timeout":
		if _, err := milliseconds(value); err != nil {
			return "", bad
		}
	case "session_authorization", "role":
		if value != s.session.user && value != "none" && value != "default" {
			return "", failure("42501", "permission denied to set role \"%s\"", value)
		}
	}
	if fixed[name] {
		return "", failure("55P02", "parameter \"%s\" cannot be changed", name)
	}
	return value, nil
}

// set changes a setting and tells the client where it wants to know.
func (s *settings) set(name, value string) error {
	value, err := s.check(name, value)
	if err != nil {
		return err
	}
	_, known := s.get(name)
	custom := strings.Contains(name, ".")
	if !known && !custom {
		return failure("42704", "unrecognized configuration parameter \"%s\"", name)
	}
	if !known && len(s.values) >= maxSettings {
		return failure("54000", "a session has at most %d settings", maxSettings)
	}
	s.put(name, &value)
	return nil
}

// put sets a value; nil takes it back.
func (s *settings) put(name string, value *string) {
	before, _ := s.get(name)
	if value == nil {
		delete(s.values, name)
	} else {
		s.values[name] = *value
	}
	after, _ := s.get(name)
	if name == "timezone" {
		if z, err := zoneOf(after); err == nil {
			s.zone = z
		}
	}
	if before == after || s.session.pid == 0 {
		return
	}
	for _, n := range reported {
		if strings.EqualFold(n, name) {
			s.session.report(n)
		}
	}
}

// begin, commit and rollback follow the transaction.
func (s *settings) begin() { s.saved = maps.Clone(s.values) }

func (s *settings) commit() {
	for name, v := range s.locals {
		s.put(name, v)
	}
	s.locals, s.saved = map[string]*string{}, nil
}

func (s *settings) rollback() {
	saved := s.saved
	s.locals, s.saved = map[string]*string{}, nil
	for name := range maps.Clone(s.values) {
		if _, ok := saved[name]; !ok {
			s.put(name, nil)
		}
	}
	for name, v := range saved {
		s.put(name, &v)
	}
}

// reset takes one setting back, or all.
func (s *settings) reset(name string) error {
	if name != "all" {
		if _, ok := s.get(name); !ok {
			return failure("42704", "unrecognized configuration parameter \"%s\"", name)
		}
		s.put(name, nil)
		return nil
	}
	for n := range maps.Clone(s.values) {
		s.put(n, nil)
	}
	return nil
}

// options reads the options of a startup packet: -c name=value and --name=value.
func (s *settings) options(text string) {
	fields := strings.Fields(text)
	for i, f := range fields {
		switch {
		case f == "-c" && i+1 < len(fields):
			f = fields[i+1]
		case strings.HasPrefix(f, "-c"):
			f = f[2:]
		case strings.HasPrefix(f, "--"):
			f = f[2:]
		default:
			continue
		}
		if name, value, ok := strings.Cut(f, "="); ok {
			_ = s.set(pgLower(name), value) // what is not known does no harm here
		}
	}
}

// all lists the settings.
func (s *settings) all() map[string]string {
	out := maps.Clone(s.shared)
	maps.Copy(out, s.defaults)
	maps.Copy(out, s.values)
	return out
}

// context are the parameters of queries.
func (s *settings) context() map[string]any {
	out := map[string]any{}
	for name, v := range s.values {
		if key, ok := strings.CutPrefix(name, contextPrefix); ok {
			out[key] = v
		}
	}
	if _, set := out["sqlTimeZone"]; !set {
		out["sqlTimeZone"] = s.zone.String()
		if s.zone == time.UTC {
			delete(out, "sqlTimeZone")
		}
	}
	if v, ok := s.values["statement_timeout"]; ok {
		if ms, err := milliseconds(v); err == nil && ms > 0 {
			out[querycontext.Timeout.Key()] = ms
		}
	}
	return out
}

// zoneOf reads the name of a time zone, or hours off UTC.
func zoneOf(name string) (*time.Location, error) {
	name = strings.Trim(strings.TrimSpace(name), "'")
	switch strings.ToUpper(name) {
	case "UTC", "GMT", "Z", "ETC/UTC", "DEFAULT", "LOCAL", "":
		return time.UTC, nil
	}
	if h, err := strconv.ParseFloat(name, 64); err == nil && h > -16 && h < 16 {
		off := int(h * 3600)
		if off%3600 == 0 {
			return time.FixedZone(time.Unix(0, 0).In(time.FixedZone("", off)).Format("-07:00"), off), nil
		}
	}
	return time.LoadLocation(name)
}

// milliseconds reads a time with or without a unit.
func milliseconds(text string) (int64, error) {
	text = strings.TrimSpace(text)
	unit := strings.TrimLeft(text, "0123456789")
	n, err := strconv.ParseInt(strings.TrimSuffix(text, unit), 10, 64)
	if err != nil {
		return 0, err
	}
	switch strings.TrimSpace(unit) {
	case "", "ms":
		return n, nil
	case "s":
		return n * 1000, nil
	case "min":
		return n * 60_000, nil
	case "h":
		return n * 3600_000, nil
	}
	return 0, strconv.ErrSyntax
}
