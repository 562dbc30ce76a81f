package site

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"git-ward/internal/diag"
)

// hostile are words that an agent might write to be more than words in a page.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</pre></bdi></title></svg><iframe src=//evil.example>`,
	`<!--`, `-->`, `]]>`, `{{.}}`, `javascript:alert(1)`, "</style><style>body{display:none}", "`${alert(1)}`", "\x1b[2J\x1b]8;;http://evil.example\x07link",
	"\u202egnp.exe", "\u2066\u2067x", "a\x00b", "\xff\xfe", "\u200b\u200bx", "&lt;script&gt;", "&#x3c;", "http://evil.example/x",
}

// all are the pages of a source, live or not, by their paths.
func all(t testing.TB, f fixture, live bool) map[string][]byte {
	t.Helper()
	pages := map[string][]byte{}
	s := Live(f)
	for _, path := range []string{"/", "/d/D-1", "/d/D-1/1", "/d/D-1/review", "/audit"} { // the machines' page has no words of anybody's
		query := url.Values{}
		if live {
			query = url.Values{"who": {f.words.Raw()}, "q": {f.words.Raw()}, "rule": {f.words.Raw()}}
		}
		page, err := s.Page(t.Context(), path, query)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		pages[path] = page
	}
	return pages
}

var (
	ownLink = regexp.MustCompile(`^(#[a-z0-9-]+|/|/style\.css|/live\.js|/audit(\?[\w=&%+.-]*)?|/machines|/d/D-\d+(/\d+|/review)?)$`)
	// mayHold are the elements that a page of ours has: none that loads, runs, or embeds.
	mayHold = strings.Fields("html head meta title link script noscript body a header p b bdi nav ul ol li main h1 h2 h3 span code pre details summary section form label input select option button " +
		"div table caption thead tbody tr th td br dl dt dd time figure figcaption svg desc g path text circle rect footer i")
)

// structure is a page's elements and attribute names, without words; and what it has that
// no page of ours has.
func structure(t testing.TB, page []byte) (shape string, odd []string) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		if n.Type == html.CommentNode {
			odd = append(odd, "comment "+n.Data)
		}
		if n.Type == html.ElementNode {
			fmt.Fprintf(&b, "%*s%s", depth, "", n.Data)
			if !slices.Contains(mayHold, n.Data) {
				odd = append(odd, "element "+n.Data)
			}
			for _, a := range n.Attr {
				b.WriteString(" " + a.Key)
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
					odd = append(odd, "attribute "+a.Key)
				case a.Key == "href" || a.Key == "src":
					if !ownLink.MatchString(a.Val) {
						odd = append(odd, a.Key+" "+a.Val)
					}
				case a.Key == "action" && a.Val != "/" && a.Val != "/audit" && a.Val != "/logout":
					odd = append(odd, "action "+a.Val)
				}
			}
			b.WriteByte('\n')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	return b.String(), odd
}

// compare wants pages with an agent's words to be what they are with harmless ones, but
// for the words.
func compare(t *testing.T, words string) {
	harmless := all(t, fixture{words: diag.Untrusted(harmlessLike(words)), n: 3}, true)
	for path, page := range all(t, fixture{words: diag.Untrusted(words), n: 3}, true) {
		want, _ := structure(t, harmless[path])
		got, odd := structure(t, page)
		if len(odd) > 0 {
			t.Errorf("%s with %q has %q", path, words, odd)
		}
		if got != want {
			t.Errorf("%s with %q is another page:\n%s", path, words, firstDifference(got, want))
		}
		if i := slices.IndexFunc(page, func(c byte) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }); i >= 0 {
			t.Errorf("%s with %q has the control character %#x", path, words, page[i])
		}
		for _, r := range "\u202e\u202d\u2066\u2067\u2068\u200b" {
			if strings.ContainsRune(string(page), r) {
				t.Errorf("%s with %q has %U", path, words, r)
			}
		}
	}
}

// harmlessLike are words of which as much is shown: each sign is a letter, and lines stay.
func harmlessLike(words string) string {
	clean := []byte(diag.CleanLines(words))
	for i, c := range clean {
		if c != '\n' {
			clean[i] = 'x'
		}
	}
	return string(clean)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %q, with harmless words %q", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d elements, with harmless words %d", len(g), len(w))
}

// TestHostileWords: whatever an agent writes, it is words on the page (SEE-2).
func TestHostileWords(t *testing.T) {
	for _, words := range append(hostile, strings.Repeat("w", 10<<10), strings.Repeat("<b>", 30_000)) {
		compare(t, words)
	}
}

func FuzzHostileWords(f *testing.F) {
	for _, words := range hostile {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		if len(words) < 1<<10 && diag.Clean(strings.TrimSpace(words)) != "" && !strings.ContainsAny(words, "\n\r") {
			compare(t, words)
		}
	})
}
