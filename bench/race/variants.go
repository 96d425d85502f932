package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// variant is a Henge that holds the same rows in another way, or whose user may not see all rows
// just so. It takes its turns beside the plain one, so that what a variant costs is measured in
// one run.
type variant struct {
	title, folder string
	// live is the share of the rows that are pushed and not published, in per cent.
	live int
	// rule says that queries are sent by a user with row rules.
	rule bool
}

// variants are the Henges that take part.
func (o *options) variants() []variant {
	list := []variant{{title: hengeName, folder: "henge"}}
	if o.live > 0 {
		list = append(list, variant{title: hengeName + " with live rows", folder: "henge-live", live: o.live})
	}
	if o.policy {
		list = append(list, variant{title: hengeName + " with row rules", folder: "henge-rules", rule: true})
	}
	return list
}

// check refuses options that do not go together.
func (o *options) check() error {
	only := strings.Split(o.only, ",")
	switch {
	case o.live < 0 || o.live > 90:
		return fmt.Errorf("-live: [%d] per cent is not between 0 and 90", o.live)
	case o.live > 0 && slices.ContainsFunc([]string{"ingest", "cold", "flights"}, func(w string) bool { return slices.Contains(only, w) }):
		return errors.New("-live: the works ingest, cold and flights have no live rows; leave them out of -only")
	case o.connections < 1:
		return fmt.Errorf("-connections: [%d] is not a number of connections", o.connections)
	case o.lasting <= 0:
		return fmt.Errorf("-for: [%v] is not a duration", o.lasting)
	}
	return nil
}

// Users of the secured server.
const (
	adminPassword = "race-admin"
	askerName     = "asker"
	askerPassword = "race-asker"
	authPath      = "/proxy/coordinator/service-ext/basic-security/"
)

func basicLogin(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// secure has the server check who sends requests.
func (h *henge) secure() {
	for _, setting := range []string{
		`service.auth.authenticatorChain=["meta"]`, "service.auth.authenticator.meta.type=basic",
		"service.auth.authenticator.meta.authorizerName=az",
		"service.auth.authenticator.meta.initialAdminPassword=" + adminPassword,
		"service.auth.authenticator.meta.initialInternalClientPassword=race-internal",
		`service.auth.authorizers=["az"]`, "service.auth.authorizer.az.type=basic", "service.escalator.type=basic",
		"service.escalator.internalClientUsername=service_system", "service.escalator.internalClientPassword=race-internal",
		"service.escalator.authorizerName=az",
	} {
		h.arguments = append(h.arguments, "--set", setting)
	}
	h.login, h.asker = basicLogin("admin", adminPassword), basicLogin(askerName, askerPassword)
}

// addUser adds the user who queries.
func (h *henge) addUser(ctx context.Context) error {
	for _, r := range [][2]string{
		{"authentication/db/meta/users/" + askerName, ""},
		{"authorization/db/az/users/" + askerName, ""},
		{"authorization/db/az/roles/" + askerName, ""},
		{"authentication/db/meta/users/" + askerName + "/credentials", `{"password":"` + askerPassword + `"}`},
		{"authorization/db/az/users/" + askerName + "/roles/" + askerName, ""},
	} {
		if _, err := h.post(ctx, authPath+r[0], json.RawMessage(max(r[1], "null"))); err != nil {
			return fmt.Errorf("adding a user: %w", err)
		}
	}
	return nil
}

// allRows is a rule on a table that keeps all of its rows.
func (t *table) allRows() string {
	for _, c := range t.columns {
		if c.sqlType == "VARCHAR" {
			return fmt.Sprintf(`"%s" <> 'nobody' OR "%s" IS NULL`, c.name, c.name)
		}
	}
	return fmt.Sprintf(`"%s" >= 0 OR "%s" IS NULL`, t.columns[0].name, t.columns[0].name)
}

// load loads what is not live of a file.
func (h *henge) load(ctx context.Context, t *table, file string, format fileFormat) (time.Duration, error) {
	if h.liveRows(t) > 0 {
		var err error
		if file, err = split(file, t.rows-h.liveRows(t)); err != nil {
			return 0, err
		}
	}
	return h.server.load(ctx, t, file, format)
}

// liveRows is how many rows of a table are live. Tables in one time chunk have no order of time.
func (h *henge) liveRows(t *table) int {
	if t.partitionedBy == "ALL" {
		return 0
	}
	return t.rows * h.live / 100
}

// split cuts a file of lines behind so many of them, and returns the path of the first part. That
// of the second one is restOf.
func split(file string, lines int) (head string, err error) {
	head = file + ".head"
	if _, err := os.Stat(head); err == nil {
		return head, nil
	}
	in, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("cutting a data file: %w", err)
	}
	defer in.Close()
	from := bufio.NewReaderSize(in, 1<<20)
	copyLines := func(path string, most int) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		to := bufio.NewWriterSize(f, 1<<20)
		for ; most != 0; most-- {
			line, err := from.ReadSlice('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				break
			} else if err != nil {
				return err
			}
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		return to.Flush()
	}
	if err := errors.Join(copyLines(head, lines), copyLines(restOf(file), -1)); err != nil {
		return "", fmt.Errorf("cutting the data file [%s]: %w", file, err)
	}
	return head, nil
}

func restOf(file string) string { return file + ".rest" }

// pushBytes is about how much one request pushes.
const pushBytes = 4 << 20

// push sends the rows that are live.
func (h *henge) push(ctx context.Context, t *table, file string) error {
	type object = map[string]any
	dimensions := make([]object, len(t.columns))
	for i, c := range t.columns {
		kind := map[string]string{"BIGINT": "long", "DOUBLE": "double", "VARCHAR": "string"}[c.sqlType]
		dimensions[i] = object{"name": c.name, "type": kind}
	}
	path := "/" + h.product + "/v2/ingest/" + t.name
	if _, err := h.send(ctx, http.MethodPut, path+"/config", object{
		"timestampSpec": object{"column": "t", "format": "millis"}, "dimensionsSpec": object{"dimensions": dimensions},
		"segmentGranularity": t.partitionedBy, "queryGranularity": "NONE",
	}, h.login); err != nil {
		return fmt.Errorf("preparing [%s] for live rows: %w", t.name, err)
	}
	in, err := os.Open(restOf(file))
	if err != nil {
		return fmt.Errorf("reading the live rows: %w", err)
	}
	defer in.Close()
	from := bufio.NewReaderSize(in, 1<<20)
	for number := 1; ; number++ {
		var body []byte
		for len(body) < pushBytes {
			line, err := from.ReadSlice('\n')
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("reading the live rows: %w", err)
			}
			body = append(body, line...)
		}
		if len(body) == 0 {
			return nil
		}
		to := fmt.Sprintf("%s?channel=race&offset=%d&ack=queryable", path, number)
		if _, err := h.send(ctx, http.MethodPost, to, body, h.login); err != nil {
			return fmt.Errorf("pushing live rows of [%s]: %w", t.name, err)
		}
	}
}

// complete does for a loaded table what makes the variant, and holds the number of its rows against
// that of the file.
func (h *henge) complete(ctx context.Context, t *table, file string) error {
	if h.liveRows(t) > 0 {
		if err := h.push(ctx, t, file); err != nil {
			return err
		}
		h.liveTables = append(h.liveTables, t.name)
	}
	if h.rule {
		h.rules = append(h.rules, map[string]any{"resource": map[string]string{"name": t.name, "type": "DATASOURCE"}, "action": "READ",
			"policy": map[string]string{"rows": t.allRows()}})
		if _, err := h.post(ctx, authPath+"authorization/db/az/roles/"+askerName+"/permissions", h.rules); err != nil {
			return fmt.Errorf("giving a rule on [%s]: %w", t.name, err)
		}
	}
	if h.live == 0 && !h.rule {
		return nil
	}
	a, err := h.ask(ctx, "SELECT COUNT(*) FROM "+t.name)
	if err != nil {
		return err
	}
	if len(a.rows) != 1 || fmt.Sprint(a.rows[0]...) != fmt.Sprint(t.rows) {
		return fmt.Errorf("%s has %v rows of [%s], not [%d]", h.called, a.rows, t.name, t.rows)
	}
	return h.stillLive(ctx)
}

// stillLive fails if live rows of a table were published: nothing about them was measured then.
func (h *henge) stillLive(ctx context.Context) error {
	for _, name := range h.liveTables {
		a, err := h.ask(ctx, `SELECT COUNT(*) FROM sys.segments WHERE "datasource" = '`+name+`' AND is_realtime = 1`)
		if err != nil {
			return err
		}
		if len(a.rows) != 1 || fmt.Sprint(a.rows[0]...) == "0" {
			return fmt.Errorf("the rows of [%s] that should be live were published while they were queried: use fewer rounds", name)
		}
	}
	return nil
}

// stillLive asks all engines with live rows whether they have them.
func (r *race) stillLive(ctx context.Context) error {
	for _, e := range r.engines {
		if h, ok := e.(*henge); ok {
			if err := h.stillLive(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
