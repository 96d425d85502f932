package golden

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Player sends exchanges to a server and compares the answers.
type Player struct {
	// Addresses maps the roles of recordings ("router", "broker", ...) to base URLs.
	Addresses map[string]string
	// Replace is applied to every request's text, such as the recorded data folder by the real one.
	Replace *strings.Replacer
	// Wait is how long the end of asynchronous work is waited for.
	Wait time.Duration

	vars map[string]string
}

// Result says what became of an exchange.
type Result struct {
	// Skipped says why it can't be replayed at all.
	Skipped string
	// Missing names a value it needs that no exchange played before has captured.
	Missing string
	// Difference is how the answer departs from the recording, "" if it fits.
	Difference string
}

// Play sends one exchange.
func (p *Player) Play(ctx context.Context, e *Exchange) Result {
	if p.vars == nil {
		p.vars = map[string]string{}
	}
	if !e.Complete() {
		return Result{Skipped: "the recording is shortened"}
	}
	base, ok := p.Addresses[e.To]
	if !ok {
		return Result{Skipped: "there is no " + e.To}
	}
	path, body, missing := p.request(e)
	if missing != "" {
		return Result{Missing: missing}
	}
	if err := p.awaitState(ctx, base, path, e); err != nil {
		return Result{Difference: err.Error()}
	}
	status, header, got, err := p.send(ctx, base, e.Request.Method, path, e.Request.Headers, body)
	if err != nil {
		return Result{Difference: err.Error()}
	}
	for name, at := range e.Capture {
		if v, ok := lookup(got, at); ok {
			p.vars[name] = v
		}
	}
	if d := compareAnswer(e, status, header, got); d != "" {
		return Result{Difference: d}
	}
	return Result{}
}

// Remember gives a value that requests name, where no exchange that is played captures it.
func (p *Player) Remember(name, value string) {
	if p.vars == nil {
		p.vars = map[string]string{}
	}
	p.vars[name] = value
}

// Do sends a request that is not recorded, but without which the recording makes no sense. Captured
// values are filled into path.
func (p *Player) Do(ctx context.Context, to, method, path string) error {
	path, missing := fill(path, p.vars)
	if missing != "" {
		return fmt.Errorf("no exchange has captured %s", missing)
	}
	_, _, _, err := p.send(ctx, p.Addresses[to], method, path, nil, "")
	return err
}

// request fills in the values that a request takes from earlier answers.
func (p *Player) request(e *Exchange) (path, body, missing string) {
	if path, missing = fill(e.Request.Path, p.vars); missing != "" {
		return "", "", missing
	}
	switch {
	case e.Request.BodyText != nil:
		body = *e.Request.BodyText
	case len(e.Request.Body) > 0:
		body = string(e.Request.Body)
	}
	if body, missing = fill(body, p.vars); missing != "" {
		return "", "", missing
	}
	if p.Replace != nil {
		body = p.Replace.Replace(body)
	}
	return path, body, ""
}

// Ingest sends the submission of a SQL task and waits until the task has succeeded.
func (p *Player) Ingest(ctx context.Context, e *Exchange) error {
	path, body, missing := p.request(e)
	if missing != "" {
		return fmt.Errorf("no exchange has captured %s", missing)
	}
	base := p.Addresses[e.To]
	status, _, got, err := p.send(ctx, base, e.Request.Method, path, e.Request.Headers, body)
	if err != nil {
		return err
	}
	id, ok := lookup(got, "taskId")
	if status != http.StatusAccepted || !ok {
		return fmt.Errorf("status %d: %.300s", status, got)
	}
	state, err := p.awaitTask(ctx, base, id)
	if err != nil {
		return err
	}
	if code, _ := lookup(state, "status.statusCode"); code != "SUCCESS" {
		return fmt.Errorf("the task failed: %.600s", state)
	}
	return nil
}

func (p *Player) send(ctx context.Context, base, method, path string, headers map[string]string, body string) (int, http.Header, []byte, error) {
	u, err := url.Parse(base + path)
	if err != nil {
		return 0, nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if body == "" {
		req.Body = http.NoBody
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("the body broke off after %d bytes: %w", len(got), err)
	}
	return resp.StatusCode, resp.Header, got, nil
}

// awaitState waits until the task or statement that a GET asks about has ended, if the recording
// shows it ended.
func (p *Player) awaitState(ctx context.Context, base, path string, e *Exchange) error {
	if e.Request.Method != http.MethodGet || e.Answer.Status != http.StatusOK && !strings.Contains(e.Name, "results") {
		return nil
	}
	recorded := string(e.Answer.Body)
	if strings.Contains(recorded, `"RUNNING"`) || strings.Contains(recorded, `"ACCEPTED"`) || strings.Contains(recorded, "[RUNNING]") || strings.Contains(recorded, "[ACCEPTED]") {
		return nil
	}
	var id string
	for _, v := range p.vars {
		if strings.Contains(path, v) && len(v) > len(id) {
			id = v
		}
	}
	if id == "" {
		return nil
	}
	if strings.HasSuffix(path, "/task/"+id) { // what it was told to do is there before
		return nil
	}
	if strings.Contains(path, "/log") {
		return p.awaitLog(ctx, base, path)
	}
	_, err := p.awaitTask(ctx, base, id)
	return err
}

// awaitLog waits until a task has begun its log, which is soon after it runs.
func (p *Player) awaitLog(ctx context.Context, base, path string) error {
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	for {
		status, _, _, err := p.send(ctx, base, http.MethodGet, path, nil, "")
		if err != nil || status != http.StatusNotFound {
			return err
		}
		if err := clock.System().Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("[%s] is still not there after %s", path, p.Wait)
		}
	}
}

// awaitTask returns the status of a task that has ended, or whatever else comes for an id that is
// none.
func (p *Player) awaitTask(ctx context.Context, base, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	pause := 2 * time.Millisecond
	for {
		status, _, body, err := p.send(ctx, base, http.MethodGet, "/service/indexer/v1/task/"+url.PathEscape(id)+"/status", nil, "")
		if err != nil {
			return nil, err
		}
		if code, _ := lookup(body, "status.statusCode"); status != http.StatusOK || code != "RUNNING" {
			return body, nil
		}
		if err := clock.System().Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("task [%s] has not ended after %s", id, p.Wait)
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
}

func compareAnswer(e *Exchange, status int, header http.Header, got []byte) string {
	if status != e.Answer.Status {
		return fmt.Sprintf("status %d, want %d: %.300s", status, e.Answer.Status, got)
	}
	if isWorded(e, status, got) {
		return compareHeaders(e, header)
	}
	if d := compareMediaType(e, header); d != "" {
		return d
	}
	if d := compareHeaders(e, header); d != "" {
		return d
	}
	if e.Mask["$text"] != "" {
		return ""
	}
	if e.Answer.BodyText != nil {
		return compareText(*e.Answer.BodyText, string(got), e.Answer.Cut > 0)
	}
	if len(e.Answer.Body) == 0 {
		return ""
	}
	if status >= 400 {
		return compareError(e, got)
	}
	return compareJSON(e.Answer.Body, got, e.Mask, e.Stable)
}

// isWorded reports whether a body is the error object that a refusal has where Druid sends nothing,
// or a page.
func isWorded(e *Exchange, status int, got []byte) bool {
	var body struct {
		Message string `json:"errorMessage"`
	}
	none := e.Mask["$text"] != "" || e.Answer.BodyText != nil && *e.Answer.BodyText == "" ||
		strings.HasPrefix(e.Answer.Headers["Content-Type"], "text/html")
	return status >= 400 && none && json.Unmarshal(got, &body) == nil && body.Message != ""
}

// contentTypes is the interface document's table, which wins over the recordings.
var contentTypes = map[string]string{"objectlines": "text/plain", "arraylines": "text/plain", "csv": "text/csv"}

func compareMediaType(e *Exchange, header http.Header) string {
	want, _, _ := mime.ParseMediaType(e.Answer.Headers["Content-Type"])
	if want == "" || len(e.Answer.Body) == 0 && (e.Answer.BodyText == nil || *e.Answer.BodyText == "") {
		return ""
	}
	var body struct {
		ResultFormat string `json:"resultFormat"`
	}
	if e.Answer.Status == http.StatusOK && strings.HasPrefix(strings.TrimSuffix(e.Request.Path, "/"), "/service/v2/sql") {
		_ = json.Unmarshal(e.Request.Body, &body) // other bodies name no format
		if t, ok := contentTypes[strings.ToLower(body.ResultFormat)]; ok && strings.TrimSuffix(e.Request.Path, "/") == "/service/v2/sql" {
			want = t
		}
		if strings.Contains(e.Request.Path, "/results") {
			return ""
		}
	}
	got, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if got != want {
		return fmt.Sprintf("content type %q, want %q", got, want)
	}
	return ""
}

// ownHeaders are those the interface itself defines; others belong to the server that was recorded.
const ownHeaders = "X-Service-"

func compareHeaders(e *Exchange, header http.Header) string {
	names := make([]string, 0, len(e.Answer.Headers))
	for name := range e.Answer.Headers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		want, got := e.Answer.Headers[name], header.Get(name)
		switch {
		case !strings.HasPrefix(name, ownHeaders):
		case len(header.Values(name)) == 0:
			return fmt.Sprintf("header %s is missing", name)
		case e.Mask["$headers."+name] != "" || want == got:
		case strings.HasPrefix(want, "{"):
			if d := compareJSON([]byte(want), []byte(got), nil, true); d != "" {
				return fmt.Sprintf("header %s: %s", name, d)
			}
		default:
			return fmt.Sprintf("header %s is %q, want %q", name, got, want)
		}
	}
	return ""
}

// compareError compares what clients rely on of an error: code, category, persona and the sense of
// the message, which is its text up to a list of alternatives. The member "error" is the union's
// (the specification), not the recording's.
func compareError(e *Exchange, got []byte) string {
	var want, have map[string]any
	if json.Unmarshal(e.Answer.Body, &want) != nil {
		return compareJSON(e.Answer.Body, got, e.Mask, e.Stable)
	}
	if err := json.Unmarshal(got, &have); err != nil {
		return fmt.Sprintf("no JSON object: %.200s", got)
	}
	if inner, ok := want["error"].(map[string]any); ok { // the envelope of the task endpoint
		haveInner, ok := have["error"].(map[string]any)
		if !ok {
			return "$.error: want an object"
		}
		if want["state"] != have["state"] {
			return fmt.Sprintf("$.state: want %v, got %v", want["state"], have["state"])
		}
		want, have = inner, haveInner
	}
	for _, k := range []string{"errorCode", "category", "persona"} {
		if w, ok := want[k]; ok && w != have[k] {
			return fmt.Sprintf("$.%s: want %v, got %v (%.300s)", k, w, have[k], got)
		}
	}
	w, _ := want["errorMessage"].(string)
	h, _ := have["errorMessage"].(string)
	if e.Mask["$.errorMessage"] != "" || !e.Stable {
		return ""
	}
	w, _, _ = strings.Cut(w, ", acceptable options")
	if !strings.Contains(h, w) {
		return fmt.Sprintf("$.errorMessage: want %q, got %q", w, h)
	}
	return ""
}
