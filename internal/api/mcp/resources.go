package mcp

import (
	"encoding/base64"
	"mime"
	"slices"
	"strings"

	"github.com/hengedb/henge/docs"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/endpoints"
)

// scheme is in front of the names of resources.
const scheme = "henge://"

const (
	llms    = scheme + "llms.txt"
	openAPI = scheme + "openapi.json"
	pages   = scheme + "docs/"
)

func (a *API) listResources(c *call) (any, *rpcError) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	if problem := c.read(&p); problem != nil {
		return nil, problem
	}
	if p.Cursor != "" {
		return nil, refuse(codeParams, "Cursor [%.100s] is of no list: all resources are in the first answer", p.Cursor)
	}
	list := []any{
		resource(llms, "llms.txt", "Index of the documentation", "text/plain"),
		resource(openAPI, "openapi.json", "HTTP interface as an OpenAPI document", "application/json"),
	}
	for _, page := range docs.Pages() {
		list = append(list, resource(pages+page.Name, page.Name, page.Title, "text/markdown"))
	}
	return cached(map[string]any{"resources": list}), nil
}

func resource(uri, name, title, media string) any {
	return map[string]any{"uri": uri, "name": name, "title": title, "mimeType": media}
}

func (a *API) readResource(c *call) (any, *rpcError) {
	var p struct {
		URI string `json:"uri"`
	}
	if problem := c.read(&p); problem != nil {
		return nil, problem
	}
	text, media := "", "text/plain"
	switch name, isPage := strings.CutPrefix(p.URI, pages); {
	case p.URI == llms:
		text = docs.Index(pages)
	case p.URI == openAPI:
		document, err := endpoints.OpenAPI(edge.DialectOf(c.r.Context()).Name, a.o.Version)
		if err != nil {
			return nil, refuse(codeInternal, "The API document can't be written")
		}
		text, media = string(document), "application/json"
	case isPage:
		list := docs.Pages()
		at := slices.IndexFunc(list, func(page docs.Page) bool { return page.Name == name })
		if at < 0 {
			return nil, refuse(codeParams, "There is no resource [%.200s]", p.URI)
		}
		text, media = list[at].Text, "text/markdown"
	default:
		return nil, refuse(codeParams, "There is no resource [%.200s]", p.URI)
	}
	return cached(map[string]any{"contents": []any{map[string]any{"uri": p.URI, "mimeType": media, "text": text}}}), nil
}

// sameName reports whether a header has a name, which is packed where it is not plain ASCII.
func sameName(header, name string) bool {
	if header == name {
		return true
	}
	if packed, ok := strings.CutPrefix(header, "=?base64?"); ok {
		if text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(packed, "?=")); err == nil {
			return string(text) == name
		}
	}
	decoded, err := new(mime.WordDecoder).DecodeHeader(header)
	return err == nil && decoded == name
}
