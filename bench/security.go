package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings of the secured server, and its users.
const (
	adminPassword = "bench-admin"
	userPassword  = "bench-user"
	usersPath     = "/service-ext/basic-security/authentication/db/meta/users/"
	rolesPath     = "/service-ext/basic-security/authorization/db/az"
)

var secured = []string{
	`service.auth.authenticatorChain=["meta"]`, "service.auth.authenticator.meta.type=basic",
	"service.auth.authenticator.meta.authorizerName=az",
	"service.auth.authenticator.meta.initialAdminPassword=" + adminPassword,
	"service.auth.authenticator.meta.initialInternalClientPassword=bench-internal",
	`service.auth.authorizers=["az"]`, "service.auth.authorizer.az.type=basic",
	"service.escalator.type=basic", "service.escalator.internalClientUsername=service_system",
	"service.escalator.internalClientPassword=bench-internal", "service.escalator.authorizerName=az",
}

// policies are rules that show all rows and columns, by the user who has them.
var policies = map[string]string{
	"rows":    `{"rows":"n >= 0"}`,
	"isin":    `{"rows":"kind IN ('a', 'b', 'c', 'd')"}`,
	"columns": `{"columns":{"secret":{"hide":true}}}`,
}

// policyStatements are what users ask of the datasource.
var policyStatements = []string{
	"SELECT COUNT(*), SUM(n) FROM big",
	"SELECT kind, COUNT(*), SUM(n) FROM big GROUP BY kind",
	"SELECT n, COUNT(*) AS c FROM big GROUP BY n ORDER BY c DESC LIMIT 10",
	"SELECT COUNT(*) FROM big WHERE n < 500 AND kind <> 'b'",
	"SELECT FLOOR(__time TO HOUR), SUM(n) FROM big GROUP BY 1",
}

// security measures what access control costs, and puts it into the file into.
func (m *measurement) security(ctx context.Context, rows int64, into string, stdout io.Writer) error {
	figures := newReport("security")
	table, err := m.checks(ctx)
	if err != nil {
		return err
	}
	var args []string
	for _, s := range secured {
		args = append(args, "--set", s)
	}
	for _, on := range []bool{false, true} {
		arguments := args
		if !on {
			arguments = nil
		}
		err := m.withServer(ctx, func(s *server) error {
			if on {
				s.login = basicLogin("admin", adminPassword)
			}
			took, err := m.requests(ctx, s)
			if err != nil {
				return err
			}
			table = append(table, row{fmt.Sprintf("a request for SELECT 1, security %s", map[bool]string{false: "off", true: "on"}[on]),
				fmt.Sprintf("%.0f us", took), "", fmt.Sprintf("median of %d requests of one client, one after the other", requestCount)})
			if !on {
				return nil
			}
			more, err := m.policies(ctx, s, rows)
			table = append(table, more...)
			return err
		}, arguments...)
		if err != nil {
			return err
		}
	}
	return figures.write(table, into, stdout)
}

var (
	benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)-\d+\s+\d+\s+([\d.]+) ns/op(.*)$`)
	metric    = regexp.MustCompile(`([-\d.]+) (\S+)`)
)

// checks runs the benchmarks of checks, which are parts of the packages that they are about.
func (m *measurement) checks(ctx context.Context) ([]row, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "./internal/auth/basic", "-run", "^$", "-bench", "CachedCheck|Decide|Refusals",
		"-benchtime", "200ms", "-count", strconv.Itoa(m.times))
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running the benchmarks: %w", err)
	}
	took := map[string][]float64{}
	for _, match := range benchLine.FindAllSubmatch(out, -1) {
		ns, err := strconv.ParseFloat(string(match[2]), 64)
		if err != nil {
			return nil, err
		}
		name := string(match[1])
		took[name] = append(took[name], ns/1000)
		for _, more := range metric.FindAllSubmatch(match[3], -1) {
			value, err := strconv.ParseFloat(string(more[1]), 64)
			if err != nil {
				return nil, err
			}
			took[name+" "+string(more[2])] = append(took[name+" "+string(more[2])], value)
		}
	}
	if len(took) < 10 {
		return nil, fmt.Errorf("the benchmarks say %.500s", out)
	}
	show := func(name string) string {
		slices.Sort(took[name])
		list := took[name]
		return fmt.Sprintf("best %.3g us, median %.3g us, worst %.3g us", list[0], median(list), list[len(list)-1])
	}
	table := []row{{"a cached check: header, password, one permission", show("CachedCheck"), "20 us", "the password was verified before"}}
	for _, form := range []string{"names", "prefixes", "automata", "free"} {
		table = append(table, row{"a decision, patterns that are " + form, show("Decide/" + form + "/first"), "50 us",
			"100,000 users, 10,000 roles, 1,000 patterns in the role of the user, a resource that was not checked before"})
	}
	of := func(unit string) float64 {
		list := took["Refusals "+unit]
		slices.Sort(list)
		return median(list)
	}
	table = append(table, row{"an unknown user against a wrong password",
		fmt.Sprintf("%.0f us and %.0f us: %+.2f %%; two halves of the wrong passwords: %.2f %%", of("us-unknown"), of("us-wrong"), of("%differ"),
			of("%noise")), "less than the noise", "medians of alternating attempts, with 1,000 iterations"})
	return table, nil
}

// fast is what a query takes that nothing else disturbs: the limit of the fastest tenth.
func fast(sorted []float64) float64 { return sorted[len(sorted)/10] }

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// requestCount is how many requests the median of a request is of.
const requestCount = 2000

// requests returns the median of a small request in microseconds.
func (m *measurement) requests(ctx context.Context, s *server) (float64, error) {
	took := make([]float64, requestCount)
	for i := range took {
		began := time.Now()
		if _, err := s.query(ctx, "SELECT 1"); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(began).Nanoseconds()) / 1000
	}
	slices.Sort(took)
	return median(took), nil
}

// policies compares the queries of a user without rules with those of users whose rules show all.
func (m *measurement) policies(ctx context.Context, s *server, rows int64) ([]row, error) {
	if err := s.ingest(ctx, fmt.Sprintf(`REPLACE INTO big OVERWRITE ALL
		SELECT MILLIS_TO_TIMESTAMP(1767225600000 + i * 40) AS __time, MOD(i * 7919, 1000) AS n,
			CASE MOD(i, 4) WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' ELSE 'd' END AS kind, 'x' AS secret
		FROM (SELECT a.n * 1000 + b.n AS i FROM %s a CROSS JOIN %s b) PARTITIONED BY ALL`, numbers(rows/1000), numbers(1000))); err != nil {
		return nil, err
	}
	users := []string{"plain", "plain2"} // the second is compared, too: what differs there is noise
	for user := range policies {
		users = append(users, user)
	}
	slices.Sort(users)
	for _, user := range users {
		policy := policies[user]
		if policy != "" {
			policy = `,"policy":` + policy
		}
		for _, pair := range [][2]string{
			{usersPath + user, ""}, {rolesPath + "/users/" + user, ""}, {rolesPath + "/roles/" + user, ""},
			{usersPath + user + "/credentials", `{"password":"` + userPassword + `"}`},
			{rolesPath + "/roles/" + user + "/permissions", `[{"resource":{"name":"big","type":"DATASOURCE"},"action":"READ"` + policy + `}]`},
			{rolesPath + "/users/" + user + "/roles/" + user, ""},
		} {
			if err := s.call(ctx, http.MethodPost, "/proxy/coordinator"+pair[0], raw(pair[1]), nil); err != nil {
				return nil, err
			}
		}
	}
	// In turns, so that what else the machine does hits all alike.
	took := map[string][]float64{}
	for round := range max(m.times, 3) * 20 {
		for i, text := range policyStatements {
			for _, user := range users {
				as := *s
				as.login = basicLogin(user, userPassword)
				began := time.Now()
				if _, err := as.query(ctx, text); err != nil {
					return nil, fmt.Errorf("%s as %s: %w", text, user, err)
				}
				if round > 0 { // the first opens files
					key := user + strconv.Itoa(i)
					took[key] = append(took[key], float64(time.Since(began).Nanoseconds()))
				}
			}
		}
	}
	var table []row
	for _, user := range users {
		if user == "plain" {
			continue
		}
		var ratios []string
		for i := range policyStatements {
			with, without := took[user+strconv.Itoa(i)], took["plain"+strconv.Itoa(i)]
			slices.Sort(with)
			slices.Sort(without)
			ratios = append(ratios, fmt.Sprintf("%.2f ms to %.2f ms (%+.1f %%)", fast(without)/1e6, fast(with)/1e6,
				100*(fast(with)/fast(without)-1)))
		}
		what, goal := "a rule that filters nothing: `"+policies[user]+"`", "1 %"
		if policies[user] == "" {
			what, goal = "no rule: another user with the same permissions", "the noise"
		}
		table = append(table, row{what, strings.Join(ratios, ", "), goal,
			fmt.Sprintf("the fastest tenth of %d runs of %d queries of %d rows, alternating with a user without rules", max(m.times, 3)*20-1,
				len(policyStatements), rows)})
	}
	return table, nil
}

// numbers is a table of the numbers below n.
func numbers(n int64) string {
	var b strings.Builder
	b.WriteString("(SELECT CAST(v AS BIGINT) AS n FROM UNNEST(ARRAY[")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(i, 10))
	}
	return b.String() + "]) AS u(v))"
}

// raw is a body as it is written; "": none.
func raw(body string) any {
	if body == "" {
		return nil
	}
	return json.RawMessage(body)
}

// basicLogin is the header of a user.
func basicLogin(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
