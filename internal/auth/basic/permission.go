package basic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Permission grants an action on the resources of one type whose names match a pattern. The pattern
// must match the whole name.
type Permission struct {
	auth.Need
	// Policy is the rule that restricts a grant of read access; nil: unrestricted.
	Policy *auth.Rule
}

// simplePermission is a permission as callers write it.
type simplePermission struct {
	Resource *auth.Resource `json:"resource"`
	Action   auth.Action    `json:"action"`
	Policy   *auth.Rule     `json:"policy,omitempty"`
}

// fullPermission is a permission as it is stored and shown.
type fullPermission struct {
	ResourceAction simplePermission `json:"resourceAction"`
	Pattern        string           `json:"resourceNamePattern"`
}

func (p Permission) simple() simplePermission {
	resource := p.Resource
	return simplePermission{&resource, p.Action, p.Policy}
}

// MarshalJSON returns the form that is stored and shown.
func (p Permission) MarshalJSON() ([]byte, error) {
	return marshal(fullPermission{p.simple(), p.Resource.Name})
}

// UnmarshalJSON parses the stored form.
func (p *Permission) UnmarshalJSON(text []byte) error {
	var full fullPermission
	if err := json.Unmarshal(text, &full); err != nil {
		return err
	}
	if full.ResourceAction.Resource == nil {
		return errors.New("a permission without a resource")
	}
	p.Need = auth.Need{Resource: *full.ResourceAction.Resource, Action: full.ResourceAction.Action}
	p.Policy = full.ResourceAction.Policy
	return nil
}

// marshal writes JSON without escaping for HTML: patterns and conditions stay readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// ParsePermissions parses a list of permissions from a request. It accepts both forms, so that
// clients can send back what they received. JSON null is an empty list.
func ParsePermissions(text []byte) ([]Permission, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, malformed("The permissions are not a JSON array: %s", fault.JSONProblem(err))
	}
	out := make([]Permission, 0, len(list))
	for i, item := range list {
		p, err := parsePermission(item)
		if err != nil {
			if f := fault.Find(err); f != nil {
				return nil, f
			}
			return nil, malformed("Permission [%d] can't be read: %v", i, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func malformed(format string, args ...any) error { return fault.InvalidInput(format, args...) }

func parsePermission(text json.RawMessage) (Permission, error) {
	var form struct {
		ResourceAction json.RawMessage `json:"resourceAction"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return Permission{}, errors.New(fault.JSONProblem(err))
	}
	if form.ResourceAction != nil {
		text = form.ResourceAction
	}
	var body struct {
		Resource *struct {
			Name *string    `json:"name"`
			Kind *auth.Kind `json:"type"`
		} `json:"resource"`
		Action auth.Action     `json:"action"`
		Policy json.RawMessage `json:"policy"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return Permission{}, errors.New(fault.JSONProblem(err))
	}
	switch {
	case body.Resource == nil || body.Resource.Name == nil || body.Resource.Kind == nil:
		return Permission{}, errors.New("it needs a [resource] with a [name] and a [type]")
	case *body.Resource.Kind == "":
		return Permission{}, errors.New("the [type] of its resource is empty")
	case body.Action != auth.Read && body.Action != auth.Write:
		return Permission{}, fmt.Errorf("value [%s] of [action] is unknown; use READ or WRITE", body.Action)
	}
	p := Permission{Need: auth.Need{Resource: auth.Resource{Name: *body.Resource.Name, Kind: *body.Resource.Kind}, Action: body.Action}}
	if _, err := compile(p.Resource.Name); err != nil {
		return Permission{}, badPattern(p.Resource.Name, err)
	}
	var err error
	p.Policy, err = parsePolicy(body.Policy, p.Need)
	return p, err
}

func badPattern(pattern string, err error) error {
	return fault.InvalidInput("Invalid permission, resource name regex[%s] does not compile.", pattern).WithCause(err)
}

// parsePolicy reads rules on rows and columns. What is not known is refused: a rule that is
// misspelt would show more than is wanted.
func parsePolicy(text json.RawMessage, need auth.Need) (*auth.Rule, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil //nolint:nilnil // no policy is nil
	}
	rule := &auth.Rule{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(rule); err != nil {
		return nil, fmt.Errorf("its [policy] can't be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its [policy] is not one object")
	}
	if need.Action != auth.Read || !slices.Contains([]auth.Kind{auth.Datasource, auth.View}, need.Resource.Kind) {
		return nil, fmt.Errorf("a [policy] limits what is read of datasources and views; it does not go with %s of type [%s]",
			need.Action, need.Resource.Kind)
	}
	if rule.Rows == "" && len(rule.Columns) == 0 {
		return nil, errors.New("its [policy] has neither [rows] nor [columns]")
	}
	for _, name := range Names(rule.Columns) {
		switch c := rule.Columns[name]; {
		case c.Hide && c.Mask != "":
			return nil, fmt.Errorf("column [%s] of its [policy] has both [hide] and [mask]", name)
		case !c.Hide && c.Mask == "":
			return nil, fmt.Errorf("column [%s] of its [policy] has neither [hide] nor [mask]", name)
		}
	}
	return rule, nil
}
