package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hengedb/henge/internal/fault"
)

func TestTextCannotBePrinted(t *testing.T) {
	text := NewText("stones")
	encoded, err := json.Marshal(map[string]any{"a": text, "b": &text, "c": map[Text]int{text: 1}})
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "a", text, "b", struct{ T Text }{text})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "a", text, "b", struct{ T Text }{text})
	for _, shown := range []string{fmt.Sprint(text), fmt.Sprintf("%v %+v %#v %s %q %x %d", text, text, text, text, text, text, text),
		fmt.Sprintf("%+v %#v", struct{ T Text }{text}, []Text{text}), string(encoded), log.String(), text.String()} {
		if strings.Contains(shown, "stones") || strings.Contains(shown, fmt.Sprintf("%x", "stones")) || !strings.Contains(shown, Masked) {
			t.Errorf("shown as %s", shown)
		}
	}
	var read Text
	if err = errors.Join(err, json.Unmarshal([]byte(`"stones"`), &read)); err != nil || read != text || read.Reveal() != "stones" {
		t.Errorf("%v, %v", read == text, err)
	}
	if none := (Text{}); none.String() != "" || !none.IsZero() {
		t.Errorf("no secret is %q", none)
	}
	for _, p := range []string{fmt.Sprintf("%v %+v %#v", Password{text: text}, Password{text: text}, Password{text: text})} {
		if strings.Contains(p, "stones") {
			t.Errorf("a password is shown as %s", p)
		}
	}
}

func TestHeldSecretsAreFoundInTexts(t *testing.T) {
	ctx := WithHeld(t.Context(), `{"password":"st\"ones","requestHeaders":{"A":"Basic dTpoaWRkZW4x"},"sasl.jaas.config":"x `+
		`password=\"jaas-pw\";","token":"a b&cde","n":{"secret":471111},
		"uris":["https://u:in%20url@h/"],"sql":"EXTERN('{\"password\":\"in-sql\"}')","pwd":"ab"}`)
	Hold(ctx, `SELECT * FROM TABLE(HTTP(password => 'it''s late'))`)
	for in, want := range map[string]string{
		`can't log in with st"ones or st\"ones`: `can't log in with ******** or ********`,
		"dTpoaWRkZW4x and hidden1":              "******** and ********",
		"jaas-pw, 471111, in-sql":               "********, ********, ********",
		"a b&cde a+b%26cde a%20b&cde":           "******** ******** ********",
		"in%20url and in url":                   "******** and ********",
		"it's late, it''s late":                 "********, ********",
		"cab":                                   "cab", // what is that short is found by its place only
	} {
		if got := Mask(ctx, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	inner := WithHeld(ctx, `{"password":"inner-one"}`)
	if got := Mask(inner, "inner-one in-sql"); got != "******** ********" {
		t.Errorf("inside: %s", got)
	}
	if got := Mask(context.Background(), "in-sql https://u:p@h"); got != "in-sql https://********@h" {
		t.Errorf("without: %s", got)
	}
}

func TestReaderMasksAcrossReads(t *testing.T) {
	ctx := WithHeld(t.Context(), `{"password":"a long secret","token":"with\"quote"}`)
	in := strings.Repeat(`{"a":"a long secret","b":"with\"quote, with\\\"quote"}`, 20_000)
	got, err := io.ReadAll(HeldBy(ctx).Reader(iotest.HalfReader(strings.NewReader(in))))
	if want := strings.Repeat(`{"a":"********","b":"********, with\\\"quote"}`, 20_000); err != nil || string(got) == in ||
		len(got) > len(want)+20_000 ||
		strings.Contains(string(got), "long secret") {
		t.Errorf("%v: %.200s", err, got)
	}
	if !json.Valid([]byte(HeldBy(ctx).MaskJSONValues(`["a long secret","with\"quote"]`))) {
		t.Error("masked JSON is none")
	}
	if got := HeldBy(t.Context()).Reader(strings.NewReader("x")); got == nil {
		t.Error("nothing to mask, and nothing to read")
	}
}

func TestMaskError(t *testing.T) {
	ctx := WithHeld(t.Context(), `{"password":"stones"}`)
	f := fault.InvalidInput("Password [stones] is wrong").With("given", "stones").WithCause(io.ErrUnexpectedEOF)
	for name, err := range map[string]error{"fault": f, "wrapped": fmt.Errorf("reading with stones: %w", f)} {
		got := MaskError(ctx, err)
		shown := fault.Find(got)
		if strings.Contains(got.Error(), "stones") || shown == nil || shown.Message != "Password [********] is wrong" ||
			shown.Context["given"] != Masked ||
			strings.Contains(shown.Error(), "stones") || !errors.Is(got, io.ErrUnexpectedEOF) ||
			shown.Category != fault.CategoryInvalidInput {
			t.Errorf("%s: %v, %v", name, got, shown)
		}
	}
	plain := errors.New("stones roll")
	if got := MaskError(ctx, plain); got.Error() != "******** roll" || !errors.Is(got, plain) {
		t.Errorf("%v", got)
	}
	for _, err := range []error{nil, io.EOF, fault.NotFound("x")} {
		if got := MaskError(ctx, err); got != err { //nolint:errorlint // it is the same value
			t.Errorf("%v became %v", err, got)
		}
	}
	cause := fault.Runtime("Failed").WithCause(errors.New("with stones"))
	if got := MaskError(ctx, cause); strings.Contains(got.Error(), "stones") || strings.Contains(fault.Find(got).Error(), "stones") {
		t.Errorf("%v", got)
	}
}

func TestRestore(t *testing.T) {
	const stored = `{"type":"kafka","ioConfig":{"consumerProperties":{"bootstrap.servers":"h:1","sasl.jaas.config":"j1"},` +
		`"inputs":[{"uris":["https://u:p@h/"],"requestHeaders":{"A":"x"}},{"password":{"type":"default","password":"p2"},"uris":["b"]}]}}`
	shown, err := MaskJSON(json.RawMessage(stored))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(from, to string) string {
		if !strings.Contains(string(shown), from) {
			t.Fatalf("%s is not in %s", from, shown)
		}
		return strings.Replace(string(shown), from, to, 1)
	}
	for _, c := range []struct {
		name, posted, want string
		refused            bool
	}{
		{name: "as it was shown", posted: string(shown), want: stored},
		{name: "with spaces", posted: edit(`"type":"kafka",`, ` "type" : "kafka" , `), want: stored},
		{name: "another member", posted: edit(`"type":"kafka"`, `"type":"kafka","x":1`),
			want: strings.Replace(stored, `"type":"kafka"`, `"type":"kafka","x":1`, 1)},
		{name: "a new secret", posted: edit(`"sasl.jaas.config":"********"`, `"sasl.jaas.config":"j2"`),
			want: strings.Replace(stored, `j1`, `j2`, 1)},
		{name: "another server", posted: edit(`h:1`, `evil:1`), refused: true},
		{name: "another URL", posted: edit(`["b"]`, `["evil"]`), refused: true},
		{name: "no URL", posted: edit(`,"uris":["b"]`, ``), refused: true},
		{name: "a mask that stands for nothing", posted: edit(`"bootstrap.servers":"h:1"`, `"bootstrap.servers":"h:1",`+
			`"sasl.password":"********"`), refused: true},
		{name: "the host of a URL with a user", posted: edit(`********@h/`, `********@evil/`), refused: true},
		{name: "no mask", posted: `{"a":1}`, want: `{"a":1}`},
	} {
		got, err := Restore(json.RawMessage(c.posted), json.RawMessage(stored))
		if err != nil {
			t.Fatal(err)
		}
		if err = Check(got); (err != nil) != c.refused || !c.refused && string(got) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
	if err := Check(json.RawMessage(`{"inputSource":{"type":"inline","data":"a,********"}}`)); err != nil {
		t.Errorf("data is refused: %v", err)
	}
	// elements that changed places keep theirs
	got, err := Restore(json.RawMessage(`[{"n":2,"password":"********"},{"n":1,"password":"********"}]`),
		json.RawMessage(`[{"n":1,"password":"p1"},{"n":2,"password":"p2"}]`))
	if err != nil || string(got) != `[{"n":2,"password":"p2"},{"n":1,"password":"p1"}]` {
		t.Errorf("%s, %v", got, err)
	}
}

func FuzzMaskText(f *testing.F) {
	f.Add(`EXTERN('{"password":"a\"b","uris":["https://u:p@h/?sig=1"]}') password => 'x' Authorization: Basic abc`)
	f.Add(`{\"secret\":{\"a\":1`)
	f.Fuzz(func(t *testing.T, text string) {
		once := MaskText(text)
		if twice := MaskText(once); twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", text, once, twice)
		}
	})
}

func BenchmarkMaskTextOfAStatementWithoutSecrets(b *testing.B) {
	text := "SELECT channel, COUNT(*) AS n FROM wiki WHERE __time >= TIMESTAMP '2016-06-27' AND page LIKE 'A%' " +
		"GROUP BY 1 ORDER BY 2 DESC LIMIT 10"
	for b.Loop() {
		MaskText(text)
	}
}
