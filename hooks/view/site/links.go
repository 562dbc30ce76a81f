package site

import (
	"net/url"
	"strconv"
	"strings"
)

// links makes links between pages: names of sibling files in a report, paths of the server if Live.
type links struct{ Live bool }

func (l links) pick(path, file string) string {
	if l.Live {
		return path
	}
	return file
}

func (l links) Home() string     { return l.pick("/", "index.html") }
func (l links) Style() string    { return l.pick("/style.css", "style.css") }
func (l links) Audit() string    { return l.pick("/audit", "audit-1.html") }
func (l links) Machines() string { return l.pick("/machines", "machines.html") }

// Directive returns the link to the page of D-1.
func (l links) Directive(name string) string { return l.pick("/d/"+name, name+".html") }

// Unit returns the link to the page of D-1.2.
func (l links) Unit(id string) string {
	name, k, _ := strings.Cut(id, ".")
	return l.pick("/d/"+name+"/"+k, id+".html")
}

// Review returns the link to the page of the work on D-1.
func (l links) Review(name string) string { return l.pick("/d/"+name+"/review", name+".review.html") }

// numbered returns the file name of page n of a list: index-2.html, audit-3.html.
func numbered(name string, n int) string {
	if n == 1 && name == "index" {
		return "index.html"
	}
	return name + "-" + strconv.Itoa(n) + ".html"
}

// asked appends a query to a path, without pairs whose value is empty.
func asked(path string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
