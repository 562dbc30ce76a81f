// Package web asks the search engine that the host's admin has named, and reads pages
// (PLAN-6): text comes back, bounded in bytes and time. The fence decides which addresses can
// be reached; without a fence, addresses of this machine and of private networks are refused.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"git-ward/internal/diag"

	"golang.org/x/net/html"
)

const (
	webSize   = 2 << 20 // of a page
	redirects = 5
)

// webTimeout bounds one question, and the reading of one page.
var webTimeout = 30 * time.Second

// Variable is the environment variable with [search] url for what an agent runs.
const Variable = "WARD_SEARCH"

// Environ is what tells commands of the engine; nothing for none.
func Environ(engine string) []string {
	if engine == "" {
		return nil
	}
	return []string{Variable + "=" + engine}
}

// Asker asks an engine; nil for none.
func Asker(engine string) func(ctx context.Context, words string) (string, error) {
	if engine == "" {
		return nil
	}
	return func(ctx context.Context, words string) (string, error) { return Search(ctx, engine, words) }
}

// errNoSearch is the error of search steps without a configured search.
var errNoSearch = diag.Hint(errors.New("[search] url is not set, so there is no search and no reading of pages"),
	"the host admin sets it in <bare>/ward/config.toml; without it, research uses read_file, list_files and grep")

// Search asks the search engine of [search] url, where {query} stands for the words;
// without it they are added as the parameter q. It returns the page's text.
func Search(ctx context.Context, engine, words string) (string, error) {
	if engine == "" {
		return "", errNoSearch
	}
	query := url.QueryEscape(words)
	if strings.Contains(engine, "{query}") {
		return get(ctx, engine, strings.ReplaceAll(engine, "{query}", query), true)
	}
	u, err := url.Parse(engine)
	if err != nil {
		return "", fmt.Errorf("[search] url: %w", err)
	}
	values := u.Query()
	values.Set("q", words)
	u.RawQuery = values.Encode()
	return get(ctx, engine, u.String(), true)
}

// View reads a page. Without a search engine there is none to find pages, and the
// admin has not said that the agent may read the web.
func View(ctx context.Context, engine, page string) (string, error) {
	if engine == "" {
		return "", errNoSearch
	}
	u, err := url.Parse(page)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("%q is not a URL of the web", page)
	}
	return get(ctx, engine, page, false)
}

// get reads a page as text, through the proxy of the environment where one is set.
func get(ctx context.Context, engine, address string, search bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", "ward-agent")
	response, err := client(engine, search).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, webSize))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered %s", request.URL.Host, response.Status)
	}
	kind := response.Header.Get("Content-Type")
	switch {
	case strings.Contains(kind, "html"):
		return text(strings.ToValidUTF8(string(body), "\ufffd")), nil
	case strings.HasPrefix(http.DetectContentType(body), "text/"), strings.Contains(kind, "json"), strings.Contains(kind, "xml"):
		return strings.ToValidUTF8(string(body), "\ufffd"), nil
	}
	return "", fmt.Errorf("%s answered with no text, but %q", request.URL.Host, diag.Clean(diag.Cut(kind, 60)))
}

// text is a page's visible text with its links' targets.
func text(page string) string {
	var b strings.Builder
	hidden := 0
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			return squeeze(b.String())
		case html.TextToken:
			if hidden == 0 {
				b.WriteString(token.Data)
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			switch token.Data {
			case "script", "style", "noscript", "template":
				if kind == html.StartTagToken {
					hidden++
				} else if kind == html.EndTagToken {
					hidden = max(0, hidden-1)
				}
			case "a":
				for _, attribute := range token.Attr {
					if attribute.Key == "href" && strings.HasPrefix(attribute.Val, "http") {
						b.WriteString(" <" + attribute.Val + "> ")
					}
				}
			case "b", "i", "em", "strong", "span", "code":
			default:
				b.WriteByte('\n')
			}
		}
	}
}

// squeeze removes blank lines and repeated blanks.
func squeeze(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if words := strings.Fields(line); len(words) > 0 {
			b.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return b.String()
}
