package sql

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret"
)

// lenientBool is true or false, which may come as text or number (jsontext.ReadFlag).
type lenientBool bool

func (b *lenientBool) UnmarshalJSON(text []byte) error {
	value, ok := jsontext.ReadFlag(text)
	if !ok {
		return &json.UnmarshalTypeError{Value: string(text), Type: reflect.TypeFor[lenientBool]()} // encoding/json adds which member it is
	}
	*b = lenientBool(value)
	return nil
}

type wireRequest struct {
	Query          *string            `json:"query"`
	ResultFormat   *string            `json:"resultFormat"`
	Header         lenientBool        `json:"header"`
	TypesHeader    lenientBool        `json:"typesHeader"`
	SQLTypesHeader lenientBool        `json:"sqlTypesHeader"`
	Context        map[string]any     `json:"context"`
	Parameters     []*query.Parameter `json:"parameters"`
}

// ReadRequest decodes a request of any of the SQL endpoints. maxBytes bounds the body.
func ReadRequest(w http.ResponseWriter, r *http.Request, maxBytes int64, dialect string) (*query.Request, error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return nil, edge.UnsupportedMedia("Missing Content-Type header")
	}
	if err := edge.CheckMedia(r); err != nil {
		return nil, err
	}
	media, _, _ := mime.ParseMediaType(header) // checked
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, fault.Malformed("Request body is larger than [%d] bytes, the limit set by service.server.http.maxRequestBytes", maxBytes)
		}
		return nil, fault.Malformed("Request body could not be read: %v", err).WithCause(err)
	}
	if !utf8.Valid(body) {
		return nil, fault.Malformed("Request body is not text in UTF-8")
	}
	secret.Hold(r.Context(), string(body))
	req := &query.Request{Format: result.Object, Context: map[string]any{}, Dialect: dialect}
	switch media {
	case "application/json":
		if err := decode(req, body); err != nil {
			return nil, err
		}
	case "text/plain":
		req.SQL = strings.TrimSpace(string(body))
	case "application/x-www-form-urlencoded":
		text, err := url.QueryUnescape(string(body))
		if err != nil {
			return nil, fault.Malformed("Unable to decode URL-Encoded SQL query: %v", err)
		}
		req.SQL = text
	default:
		return nil, edge.UnsupportedMedia("Unsupported Content-Type: %s. Only application/json, text/plain or application/x-www-form-urlencoded is supported.", header)
	}
	if media != "application/json" {
		if err := checkText(media, req.SQL); err != nil {
			return nil, err
		}
	}
	applySets(req)
	if req.ID, err = querycontext.SQLQueryID.Read(req.Context); err != nil {
		return nil, err
	}
	if req.ID == "" {
		req.ID = query.NewID()
		req.Context[querycontext.SQLQueryID.Key()] = req.ID
	}
	return req, nil
}

// checkText refuses what was sent as a statement and is none: an object is what clients send who
// forget to say that it is JSON, for curl says otherwise.
func checkText(media, statement string) error {
	statement = strings.TrimSpace(statement)
	if statement == "" {
		return fault.Malformed("Empty query")
	}
	if head := statement[0]; head == '{' || head == '[' {
		return fault.Malformed("The body looks like JSON, but its Content-Type is [%s], which is that of a statement alone. "+
			"Send the header [Content-Type: application/json]", media)
	}
	return nil
}

func decode(req *query.Request, body []byte) error {
	trimmed := bytes.TrimSpace(edge.WithoutMark(body))
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return fault.Malformed("Empty query")
	}
	var wire wireRequest
	dec := json.NewDecoder(bytes.NewReader(jsontext.Exact(trimmed, &wire)))
	dec.UseNumber() // what stands behind the object is not read
	if err := dec.Decode(&wire); err != nil {
		return malformed(body, bytes.Index(body, trimmed), err)
	}
	if wire.Query == nil {
		return fault.Malformed("Empty query: member [query] is missing")
	}
	req.SQL = *wire.Query
	req.Header, req.TypesHeader, req.SQLTypesHeader = bool(wire.Header), bool(wire.TypesHeader), bool(wire.SQLTypesHeader)
	if req.TypesHeader && !req.Header {
		return fault.Malformed("Cannot include 'typesHeader' without 'header'")
	}
	if req.SQLTypesHeader && !req.Header {
		return fault.Malformed("Cannot include 'sqlTypesHeader' without 'header'")
	}
	if wire.ResultFormat != nil {
		f, err := result.ParseFormat(*wire.ResultFormat)
		if err != nil {
			return err
		}
		req.Format, req.FormatGiven = f, true
	}
	for _, p := range wire.Parameters {
		if p == nil { // refused when it is bound
			p = &query.Parameter{Unbound: true}
		}
		req.Parameters = append(req.Parameters, *p)
	}
	maps.Copy(req.Context, wire.Context)
	return nil
}

// malformed explains a body that does not decode, with the member or the place. What was decoded
// began at byte from.
func malformed(body []byte, from int, err error) error {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		where := fault.JSONMember(wrongType)
		if where == "" {
			return fault.Malformed("Malformed SQL query wrapped in JSON: want an object, got %s", wrongType.Value)
		}
		if wrongType.Type == reflect.TypeFor[lenientBool]() {
			return fault.Malformed("Malformed SQL query wrapped in JSON: member [%s] is %.100s; want true or false", where, wrongType.Value)
		}
		return fault.Malformed("Malformed SQL query wrapped in JSON: member [%s] can't be %s", where, article(wrongType.Value))
	case errors.As(err, &syntax):
		placed := *syntax // of the whole body
		placed.Offset += int64(from)
		return fault.Malformed("Malformed SQL query wrapped in JSON: %s", fault.BrokenJSON(body, &placed))
	case errors.Is(err, io.ErrUnexpectedEOF):
		line, column := fault.Position(body, len(body))
		return fault.Malformed("Malformed SQL query wrapped in JSON: the body ends too early (line [%d], column [%d])", line, column)
	}
	return fault.Malformed("Malformed SQL query wrapped in JSON: %v", err)
}

func article(jsonKind string) string {
	if strings.IndexByte("aeiou", jsonKind[0]) >= 0 {
		return "an " + jsonKind
	}
	return "a " + jsonKind
}
