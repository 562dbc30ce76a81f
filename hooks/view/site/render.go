package site

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
)

//go:embed templates/*.html
var sources embed.FS

// Stylesheet is style.css, the only one.
//
//go:embed style.css
var Stylesheet []byte

// A page is the data of the layout that all pages share.
type page struct {
	Links      links
	Title      string // without the repository's name
	Repository diag.Untrusted
	Version    string // of the page's data; "" in a report
	Here       string // its entry in the navigation: home, audit, machines
	Content    any
}

// templates maps each page's name to its template, parsed with the layout and the shared parts.
var templates = sync.OnceValue(func() map[string]*template.Template {
	return parse("home", "directive", "unit", "review", "audit", "machines", "trouble")
})

func parse(names ...string) map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(template.FuncMap{
		"moment":   moment,
		"datetime": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":      func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"minute":   func(t time.Time) string { return t.UTC().Format("15:04 UTC") },
		"clock":    func(t time.Time) string { return t.UTC().Format(time.TimeOnly) },
		"sentence": sentence,
		"short":    shortTitle,
		"add":      func(a, b int) int { return a + b },
		"add1":     func(a float64, b int) float64 { return a + float64(b) },
	}).ParseFS(sources, "templates/layout.html", "templates/pictures.html", "templates/pages.html", "templates/live.html"))
	all := map[string]*template.Template{}
	for _, name := range names {
		all[name] = template.Must(template.Must(shared.Clone()).ParseFS(sources, "templates/"+name+".html"))
	}
	return all
}

// sentence makes a sentence of words that elsewhere follow a name.
func sentence(words string) string {
	if words == "" || strings.HasSuffix(words, ".") || strings.HasSuffix(words, "?") {
		return words
	}
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

// shortTitle cuts a title to the length of a line; the directive's text has all of it.
func shortTitle(title diag.Untrusted) string { return shorten(title.String(), 140) }

// shorten cuts a line of text to most bytes and marks the cut with "...".
func shorten(text string, most int) string {
	if len(text) > most {
		return cutAt(text, most) + "..."
	}
	return text
}

// render renders a whole page.
func render(name string, p page) ([]byte, error) { return execute(name, "layout", p) }

// execute renders a part of a page.
func execute(name, part string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates()[name].ExecuteTemplate(&b, part, data); err != nil {
		return nil, fmt.Errorf("the page %s: %w", name, err)
	}
	return b.Bytes(), nil
}
