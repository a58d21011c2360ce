package api

import (
	"bytes"
	_ "embed" // the document
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the document of the API (OpenAPI 3.1, as YAML). It is made from Routes; see
// package internal/apidoc.
func OpenAPI() []byte { return bytes.Clone(openAPI) }

//go:embed docs.html
var docsPage string

// docRoutes returns the routes of the document and its pages.
func docRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/openapi.yaml", Name: "openapi", Group: "Server", Doc: "The document of this API: OpenAPI 3.1, with the doors of this server.",
			Out:    []Answer{{Status: 200, Doc: "The document.", Media: "application/yaml"}},
			Handle: func(a *API, c *Call) error { return c.Bytes(http.StatusOK, "application/yaml", document(a.o.Doors)) },
		},
		{
			Method: "GET", Path: "/api/docs", Name: "docs", Group: "Server", Doc: "The document of this API as a page to read.",
			Out: []Answer{{Status: 200, Doc: "The page.", Media: "text/html"}}, Handle: (*API).docs,
		},
		{
			Method: "GET", Path: "/problems", Name: "problems", Group: "Server", Doc: "The registry of problems as a page to read.",
			Out: []Answer{{Status: 200, Doc: "The page.", Media: "text/html"}}, Handle: (*API).docs,
		},
	}
}

// docGroup is a section of the page.
type docGroup struct {
	Name   string
	Routes []Route
}

// docs answers with the page of the routes or of the problems.
func (a *API) docs(c *Call) error {
	page, err := template.New("docs").Funcs(template.FuncMap{
		"lower": strings.ToLower, "roles": rolesText, "statuses": statuses, "base": func() string { return a.o.Base },
	}).Parse(docsPage)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	var groups []docGroup
	for _, r := range slices.Concat(Routes(), DoorRoutes(a.o.Doors)) {
		if n := len(groups); n == 0 || groups[n-1].Name != r.Group {
			groups = append(groups, docGroup{Name: r.Group})
		}
		g := &groups[len(groups)-1]
		g.Routes = append(g.Routes, r)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Problems": c.Route.Name == "problems", "Kinds": Kinds(), "Groups": groups, "Limits": Limits(),
	})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	h := c.W.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "same-origin")
	return c.Bytes(http.StatusOK, "text/html; charset=utf-8", out.Bytes())
}

func rolesText(r Route) string {
	switch {
	case r.Roles != 0:
		return strings.Join(r.Roles.Names(), ", ")
	case r.AnyCaller:
		return "any caller"
	}
	return "everybody"
}

// statuses returns the statuses of a route and what they mean.
func statuses(r Route) []string {
	var list []string
	for _, o := range r.Out {
		list = append(list, fmt.Sprintf("%d: %s", o.Status, o.Doc))
	}
	for _, k := range r.Problem {
		list = append(list, fmt.Sprintf("%d %s: %s", k.Status, k.Name, k.Title))
	}
	return list
}
