package sampler

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

const (
	// surveyRecords is how many records a survey reads if the request does not say.
	surveyRecords = 500_000
	// surveyFiles is how many files it looks into.
	surveyFiles = 100
	// surveyTime bounds a survey: columns of the time are read whole where files say their types.
	surveyTime = 60 * time.Second
)

// surveyRequest is what is known of an input.
type surveyRequest struct {
	Source     json.RawMessage   `json:"inputSource"`
	Header     *bool             `json:"header"`
	Delimiter  string            `json:"delimiter"`
	Types      map[string]string `json:"types"`
	Time       string            `json:"time"`
	TimeFormat string            `json:"timeFormat"`
	NoTime     bool              `json:"noTime"`
	MaxRecords int64             `json:"maxRecords"`
}

// surveyed is the answer.
type surveyed struct {
	Kind           string           `json:"kind"`
	Format         json.RawMessage  `json:"inputFormat"`
	Columns        []surveyedColumn `json:"columns"`
	Time           string           `json:"time,omitempty"`
	TimeFormat     string           `json:"timeFormat,omitempty"`
	TimeExpression string           `json:"timeExpression,omitempty"`
	OtherFormat    string           `json:"otherTimeFormat,omitempty"`
	KeepTime       bool             `json:"keepTime"`
	Header         bool             `json:"header"`
	Records        int64            `json:"records"`
	Bad            int64            `json:"unreadable"`
	FirstBad       string           `json:"firstUnreadable,omitempty"`
	Untimed        int64            `json:"untimed"`
	Problems       []string         `json:"problems"`
	Notes          []string         `json:"notes"`
	Files          int              `json:"files"`
	Bytes          int64            `json:"bytes"`
	Whole          bool             `json:"whole"`
}

type surveyedColumn struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Times string `json:"times,omitempty"`
}

// survey answers what an input is, and what a table of it must look like so that no value is
// changed.
func (a *API) survey(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		return fault.Malformed("Request body could not be read").WithCause(err)
	}
	secret.Hold(r.Context(), string(body))
	if err := secret.Check(body); err != nil {
		return shown(err)
	}
	var in surveyRequest
	if err := jsontext.Read(body, &in); err != nil {
		return fault.Malformed("Request body is not a survey: %s", fault.JSONProblem(err))
	}
	source, err := a.permitSurvey(r.Context(), &in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), surveyTime)
	defer cancel()
	out, err := a.runSurvey(ctx, &in, source)
	switch {
	case err != nil && ctx.Err() != nil && r.Context().Err() == nil:
		return fault.Timeout("The survey did not end within [%d] seconds; name fewer or smaller files", int(surveyTime.Seconds()))
	case err != nil:
		return shown(err)
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// permitSurvey reads the source of a survey, and refuses what the user may not read.
func (a *API) permitSurvey(ctx context.Context, in *surveyRequest) (ingest.Source, error) {
	if isNull(in.Source) {
		return nil, fault.InvalidInput("[inputSource] is required")
	}
	if in.MaxRecords < 0 {
		return nil, fault.InvalidInput("[maxRecords] must not be negative, but is [%d]", in.MaxRecords)
	}
	source, err := ingest.ParseSource(in.Source)
	if err != nil {
		return nil, err
	}
	req := &request{table: &ingest.Table{Source: source}}
	if req.types, req.dataSources, err = ingest.Reads(in.Source); err != nil {
		return nil, err
	}
	access := auth.Of(ctx)
	if err := req.permit(ctx, access); err != nil {
		return nil, err
	}
	if !ingest.NeedsFormat(source) {
		return nil, fault.InvalidInput("Input source [%s] has rows with names and types, which the sampler shows; a survey is of files",
			source.Type())
	}
	return source, req.permitUploads(ctx, a.o.Access, access)
}

func (a *API) runSurvey(ctx context.Context, in *surveyRequest, source ingest.Source) (*surveyed, error) {
	entities, err := source.List(ctx, a.o.Access)
	if err != nil {
		return nil, err
	}
	if len(entities) == 0 {
		return nil, fault.InvalidInput("There is no file to read, or all are empty. Check the path and the pattern")
	}
	o := ingest.SurveyOptions{
		Header: in.Header, Delimiter: in.Delimiter, Types: in.Types, Time: in.Time, TimeFormat: in.TimeFormat, NoTime: in.NoTime,
		Access: a.o.Access, MaxRecords: in.MaxRecords, TempDir: a.o.TempDir, Disk: a.o.Disk,
	}
	if o.MaxRecords == 0 {
		o.MaxRecords = surveyRecords
	}
	s, err := ingest.NewSurveyor(o)
	if err != nil {
		return nil, err
	}
	out := &surveyed{Files: len(entities), Whole: true, Problems: []string{}, Notes: []string{}}
	for i, e := range entities {
		out.Bytes += max(0, e.Size())
		if i >= surveyFiles || s.Enough() {
			out.Whole = false
			continue
		}
		name := e.Name()
		if name == "" {
			name = "text"
		}
		if err := s.Add(ctx, name, e); err != nil {
			return nil, err
		}
		out.Whole = out.Whole && !s.Enough()
	}
	found, err := s.Result()
	if err != nil {
		return nil, inWords(err)
	}
	out.fill(found)
	return out, nil
}

func (out *surveyed) fill(s *ingest.Survey) {
	out.Kind, out.Format, out.Header = s.Kind, s.Format, s.Header
	out.Time, out.TimeFormat, out.OtherFormat, out.KeepTime = s.Time, s.TimeFormat, s.OtherFormat, s.KeepTime
	out.Records, out.Bad, out.Untimed = s.Records, s.Bad.Count, s.Untimed.Count
	if s.Bad.Count > 0 {
		out.FirstBad = s.Bad.At()
	}
	for _, c := range s.Columns {
		if c.Name == s.Time {
			out.TimeExpression = evidence.TimeSQL(c.Name, c.SQLType, s.TimeFormat)
		}
		out.Columns = append(out.Columns, surveyedColumn{c.Name, c.SQLType, c.Times})
	}
	for _, p := range s.Problems {
		out.Problems = append(out.Problems, flags.Replace(p))
	}
	for _, n := range s.Notes {
		out.Notes = append(out.Notes, flags.Replace(n))
	}
}

// flags are options of the command as members of the request.
var flags = strings.NewReplacer("--time-format", "[timeFormat]", "--time", "[time]", "--column NAME=TYPE", "[types]", "--column", "[types]",
	"--header=no", "[header] false", "--header", "[header]", "--delimiter", "[delimiter]")

// inWords says what is wrong without options of the command.
func inWords(err error) error {
	f := *fault.Classify(err)
	f.Message = flags.Replace(f.Message)
	return &f
}
