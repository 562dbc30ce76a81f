package githubtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Var names the file of GitHub's description of its API. Without it, it is where scripts/forge-lab
// puts it.
const Var = "WARD_OPENAPI"

// prefix is where the API is on a GitHub of one's own.
const prefix = "/api/v3"

// description is what GitHub publishes of its API, as OpenAPI.
type description struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
}

// operation is a call that the description has.
type operation struct {
	id       string
	at       []string // its way in the document
	has      map[string]any
	params   map[string]string // of the path
	template string
}

var read = sync.OnceValues(func() (*description, error) {
	path := os.Getenv(Var)
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(cache, "ward", "openapi", "api.github.com.json")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	value, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	doc, ok := value.(map[string]any)
	if !ok || doc["paths"] == nil {
		return nil, fmt.Errorf("%s is no description of an API", path)
	}
	nullable(doc)
	d := &description{doc: doc, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.DefaultDraft(jsonschema.Draft4) // of which OpenAPI 3.0 is a dialect
	return d, d.compiler.AddResource("file:///github.json", doc)
})

// describe reads the description once, or skips the test that lacks it.
func describe(t *testing.T) *description {
	t.Helper()
	d, err := read()
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("SKIPPED: GitHub's description of its API is not here: scripts/forge-lab get fetches it, and " + Var + " names it elsewhere")
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// nullable makes of OpenAPI's word for null what JSON Schema has.
func nullable(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			nullable(e)
		}
	case map[string]any:
		for _, e := range v {
			nullable(e)
		}
		if v["nullable"] != true {
			return
		}
		delete(v, "nullable")
		inner := map[string]any{}
		for k, e := range v {
			inner[k] = e
			delete(v, k)
		}
		v["anyOf"] = []any{inner, map[string]any{"type": "null"}}
		if properties := inner["properties"]; properties != nil {
			v["properties"] = properties
		}
	}
}

// get is what is at a place of the document, through its references.
func (d *description) get(way ...string) (map[string]any, []string) {
	at := d.doc
	for i, name := range way {
		next, ok := at[name].(map[string]any)
		if !ok {
			return nil, nil
		}
		at = next
		if ref, ok := at["$ref"].(string); ok {
			return d.get(append(strings.Split(strings.TrimPrefix(ref, "#/"), "/"), way[i+1:]...)...)
		}
	}
	return at, way
}

// valid holds a value against the schema at a place.
func (d *description) valid(value any, way ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range way {
		way[i] = url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(way[i]))
	}
	at := "file:///github.json#/" + strings.Join(way, "/")
	if d.schemas[at] == nil {
		s, err := d.compiler.Compile(at)
		if err != nil {
			return err
		}
		d.schemas[at] = s
	}
	return d.schemas[at].Validate(value)
}

// find is the call that a request makes.
func (d *description) find(r *http.Request) (*operation, error) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
	given := strings.Split(path, "/")
	var best *operation
	paths, _ := d.doc["paths"].(map[string]any)
	for template, item := range paths {
		parts := strings.Split(template, "/")
		if !ok || len(parts) != len(given) {
			continue
		}
		params := map[string]string{}
		fits := true
		for i, p := range parts {
			text, err := url.PathUnescape(given[i])
			if name, isParam := strings.CutPrefix(p, "{"); isParam && err == nil && text != "" {
				params[strings.TrimSuffix(name, "}")] = text
			} else if p != given[i] {
				fits = false
				break
			}
		}
		method := strings.ToLower(r.Method)
		has, _ := item.(map[string]any)[method].(map[string]any)
		if !fits || has == nil || best != nil && len(best.params) <= len(params) {
			continue
		}
		id, _ := has["operationId"].(string)
		best = &operation{id: id, at: []string{"paths", template, method}, has: has, params: params, template: template}
	}
	if best == nil {
		return nil, fmt.Errorf("GitHub has no %s %s", r.Method, path)
	}
	return best, nil
}

// request holds a request against the call that it makes.
func (d *description) request(op *operation, r *http.Request, body []byte) error {
	h := r.Header
	if h.Get("Accept") != "application/vnd.github+json" || h.Get("X-Github-Api-Version") != "2022-11-28" || h.Get("User-Agent") == "" {
		return fmt.Errorf("the header is not as GitHub wants it: %v", h)
	}
	query := r.URL.Query()
	described, _ := op.has["parameters"].([]any)
	for i := range described {
		at := slices.Concat(op.at, []string{"parameters", strconv.Itoa(i)})
		p, _ := described[i].(map[string]any)
		if ref, ok := p["$ref"].(string); ok {
			p, at = d.get(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		name, _ := p["name"].(string)
		value, given := op.params[name], true
		if p["in"] == "query" {
			value, given = query.Get(name), query.Has(name)
			delete(query, name)
		}
		if !given && p["required"] != true {
			continue
		}
		schema, _ := p["schema"].(map[string]any)
		var v any = value
		if schema["type"] == "integer" {
			v = json.Number(value)
			if _, err := strconv.ParseInt(value, 10, 64); err != nil {
				return fmt.Errorf("%s=%q is no number", name, value)
			}
		}
		if err := d.valid(v, slices.Concat(at, []string{"schema"})...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(query) > 0 {
		return fmt.Errorf("the description knows no %v", query)
	}
	return d.body(op, h, body)
}

func (d *description) body(op *operation, h http.Header, body []byte) error {
	wanted, _ := op.has["requestBody"].(map[string]any)
	switch {
	case wanted == nil && len(body) > 0:
		return errors.New("it has a body, and none is described")
	case wanted == nil || wanted["required"] != true && len(body) == 0:
		return nil
	case h.Get("Content-Type") != "application/json":
		return fmt.Errorf("its body is %q", h.Get("Content-Type"))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := slices.Concat(op.at, []string{"requestBody", "content", "application/json", "schema"})
	schema, at := d.get(at...)
	if err := d.valid(value, at...); err != nil {
		return err
	}
	// A name that is not described would be dropped without a word.
	properties, _ := schema["properties"].(map[string]any)
	members, _ := value.(map[string]any)
	for name := range members {
		if properties[name] == nil {
			return fmt.Errorf("the body has %q, which is not described", name)
		}
	}
	return nil
}

// answer holds an answer against its call.
func (d *description) answer(op *operation, code int, body []byte) error {
	_, at := d.get(slices.Concat(op.at, []string{"responses", strconv.Itoa(code)})...)
	if at == nil {
		return nil // 404 and limits are not described everywhere
	}
	if _, at = d.get(slices.Concat(at, []string{"content", "application/json", "schema"})...); at == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return d.valid(value, at...)
}

// example is a copy of one of GitHub's own examples.
func (d *description) example(name string) map[string]any {
	has, _ := d.get("components", "examples", name)
	if list, ok := has["value"].([]any); ok {
		return copied(list[0]).(map[string]any)
	}
	return copied(has["value"]).(map[string]any)
}

// copied is a value of JSON that shares nothing.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copied(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = copied(e)
		}
		return out
	}
	return v
}
