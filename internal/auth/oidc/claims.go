package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hengedb/henge/internal/auth"
)

// identity makes an identity of the claims of a token that was verified.
func (o *Options) identity(payload []byte) (*auth.Identity, error) {
	claims := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	if err := dec.Decode(&claims); err != nil {
		return nil, err
	}
	names := texts(find(claims, o.UserClaim))
	if len(names) != 1 || names[0] == "" || len(names[0]) > maxName || strings.ContainsFunc(names[0], unicode.IsControl) {
		return nil, fmt.Errorf("claim [%s] does not name a user", o.UserClaim)
	}
	id := &auth.Identity{
		Name: o.UserPrefix + names[0], Authorizer: o.Authorizer, By: o.Name, Roles: o.roles(texts(find(claims, o.RolesClaim))),
		Attributes: map[string][]string{},
	}
	if err := attributes(id.Attributes, "", claims, 0); err != nil {
		return nil, err
	}
	return id, nil
}

// roles returns the roles that values of the roles claim give.
func (o *Options) roles(values []string) []string {
	if o.RoleMapping == nil {
		return values
	}
	var out []string
	for _, v := range values {
		for _, role := range o.RoleMapping[v] {
			if !slices.Contains(out, role) {
				out = append(out, role)
			}
		}
	}
	return out
}

// find returns a claim by its name, or by a path with dots. Names may have dots, too: those of some
// providers are URLs, so the longest name that is there goes first.
func find(claims map[string]any, path string) any {
	if v, found := claims[path]; found {
		return v
	}
	for end := strings.LastIndexByte(path, '.'); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		if inner, is := claims[path[:end]].(map[string]any); is {
			if v := find(inner, path[end+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// texts returns the values of a claim as text; what is no value or list of values is none.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case bool:
		return []string{fmt.Sprint(v)}
	case []any:
		var out []string
		for _, e := range v {
			if _, nested := e.([]any); !nested {
				out = append(out, texts(e)...)
			}
		}
		return out
	}
	return nil
}

// attributes notes claims under their names; those inside others under their paths.
func attributes(out map[string][]string, prefix string, claims map[string]any, depth int) error {
	if depth > maxDepth {
		return errors.New("the claims are nested too deep")
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if inner, is := claims[name].(map[string]any); is {
			if err := attributes(out, prefix+name+".", inner, depth+1); err != nil {
				return err
			}
			continue
		}
		if values := texts(claims[name]); values != nil {
			if len(out) >= maxClaims {
				return errors.New("there are too many claims")
			}
			out[prefix+name] = values
		}
	}
	return nil
}
