package serve

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"git-ward/hooks/view/browsertest"
	"git-ward/internal/await"
	"git-ward/internal/tier"
)

// frame is a page as the site's are: what live.js finds in it.
func frame(version, main string) []byte {
	return fmt.Appendf(nil, `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>at %[1]s</title>
<noscript><meta http-equiv="refresh" content="2"></noscript><link rel="stylesheet" href="/style.css"><script src="/live.js" defer></script></head>
<body><main id="main" tabindex="-1" data-version="%[1]s">%[2]s</main><footer><p id="live" role="status"></p></footer></body></html>`, version, main)
}

// shown is a server whose pages are frames, and a browser that has signed in at it.
func shown(t *testing.T) (*running, *browsertest.Browser) {
	b := browsertest.Open(t)
	r := start(t, func(c *Config) {
		c.Style = []byte("body { margin: 1em; color: #222; background: #fff } a { color: #00c }")
	})
	r.site.page = func(path string, _ url.Values) ([]byte, error) {
		version, err := r.site.Version(context.Background())
		return frame(version, "<h1>Page "+path+"</h1><p id=p>"+version+"</p><details id=d><summary>more</summary>"+version+
			`</details><p><a id=a href="/d/D-1">one</a> <code id=c>git ward take D-1</code></p>`+strings.Repeat("<p>line</p>", 100)), err
	}
	browsertest.Do(t, b, chromedp.Navigate(r.URL()+"d/D-1"))
	browsertest.Do(t, b, chromedp.SendKeys("#code", strings.ToLower(r.code(t))+"\r"))
	browsertest.Until(t, b, `location.pathname == "/d/D-1" && document.title == "at v1"`)
	return r, b
}

// A page changes as the repository does, and what one does there meanwhile stays: the focus, a
// selection, what is open, the place one has scrolled to.
func TestPageChangesInPlace(t *testing.T) {
	tier.Full(t, "it starts a browser")
	r, b := shown(t)
	browsertest.Until(t, b, `document.getElementById("live").textContent == "live"`)
	browsertest.Ask[bool](t, b, `document.getElementById("a").focus(), document.getElementById("d").open = true,
		getSelection().selectAllChildren(document.getElementById("c")), scrollTo(0, 300), true`)
	r.site.set("v2", nil)
	browsertest.Until(t, b, `document.title == "at v2" && document.getElementById("p").textContent == "v2"`)
	if got := browsertest.Ask[string](t, b, `[document.activeElement.id, document.getElementById("d").open, String(getSelection()), scrollY].join(" ")`); got != "a true git ward take D-1 300" {
		t.Errorf("after the change: %s", got)
	}
	r.site.set("", errors.New("moved away"))
	browsertest.Until(t, b, `document.getElementById("live").textContent.includes("cannot be read")`)
	if !browsertest.Ask[bool](t, b, `document.getElementById("p").textContent == "v2"`) {
		t.Error("what was there last is gone from the page")
	}
	r.site.set("v3", nil)
	browsertest.Until(t, b, `document.getElementById("p").textContent == "v3" && document.getElementById("live").textContent == "live"`)
	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// Ten tabs are live, though a browser holds six connections: one listens for all. When it is
// closed another does.
func TestTenTabs(t *testing.T) {
	tier.Full(t, "it starts a browser")
	r, b := shown(t)
	var tabs []context.Context
	for range 9 {
		tab := b.Tab(t)
		browsertest.Do(t, tab, chromedp.Navigate(r.URL()))
		tabs = append(tabs, tab)
	}
	streams := func() int {
		r.feed.mu.Lock()
		defer r.feed.mu.Unlock()
		return r.feed.streams
	}
	await.True(t, "one stream", func() bool { return streams() == 1 })
	all := func(version string) {
		t.Helper()
		for _, tab := range append(tabs, b) {
			// A hidden tab reads when it is looked at.
			browsertest.Until(t, tab, fmt.Sprintf(`document.hidden || document.getElementById("p").textContent == %q`, version))
		}
	}
	r.site.set("v2", nil)
	all("v2")
	browsertest.Do(t, b, chromedp.Navigate("about:blank")) // the first had the stream
	await.True(t, "one stream again", func() bool { return streams() == 1 })
	r.site.set("v3", nil)
	b2 := tabs[0]
	browsertest.Until(t, b2, `document.getElementById("p").textContent == "v3"`)
	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// Who has signed out, or whose session has ended, is asked to sign in, in every tab; and the
// server that was started anew is found again.
func TestSessionEndsInTheBrowser(t *testing.T) {
	tier.Full(t, "it starts a browser")
	r, b := shown(t)
	browsertest.Until(t, b, `document.getElementById("live").textContent == "live"`)
	r.logins.mu.Lock()
	clear(r.logins.sessions)
	r.logins.mu.Unlock()
	r.site.set("v2", nil) // the stream ends, and the page is read again
	browsertest.Until(t, b, `location.pathname == "/login"`)
	if !browsertest.Ask[bool](t, b, `document.querySelector("input[name=next]").value == "/d/D-1"`) {
		t.Error("it is forgotten where one was")
	}
}

// Without JavaScript pages come anew by themselves, and one signs in all the same.
func TestWithoutJavaScript(t *testing.T) {
	tier.Full(t, "it starts a browser")
	r, b := shown(t)
	browsertest.Call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	browsertest.Do(t, b, chromedp.Navigate(r.URL()))
	browsertest.Until(t, b, `document.getElementById("p").textContent == "v1"`)
	r.site.set("v2", nil)
	browsertest.Until(t, b, `document.getElementById("p") && document.getElementById("p").textContent == "v2"`)
	browsertest.Call(t, b, network.ClearBrowserCookies, cdp.Empty{})
	browsertest.Do(t, b, chromedp.Navigate(r.URL()))
	browsertest.Until(t, b, `location.pathname == "/login"`)
	r.logins.mu.Lock()
	r.logins.made = r.logins.made.Add(-time.Hour)
	r.logins.mu.Unlock()
	browsertest.Do(t, b, chromedp.Navigate(r.URL()))
	await.True(t, "a second code", func() bool { return strings.Count(r.lines(), "code ") == 2 })
	browsertest.Do(t, b, chromedp.SendKeys("#code", r.code(t)+"\r"))
	browsertest.Until(t, b, `location.pathname == "/" && document.getElementById("p").textContent == "v2"`)
}

// The pages of this package's own are sound, by their keyboard and for a screen reader; a
// wrong code is told where one hears it.
func TestOwnPages(t *testing.T) {
	tier.Full(t, "it starts a browser")
	r, b := shown(t)
	browsertest.Call(t, b, network.ClearBrowserCookies, cdp.Empty{})
	r.logins.mu.Lock()
	r.logins.made = r.logins.made.Add(-time.Hour)
	r.logins.mu.Unlock()
	for _, at := range []string{"login", "no%20page", "login?next=%2Fd%2FD-1"} {
		browsertest.Do(t, b, chromedp.Navigate(r.URL()+at))
		for _, dark := range []bool{false, true} {
			browsertest.Look(t, b, 390, 844, dark)
			for _, v := range browsertest.Axe(t, b) {
				t.Errorf("%s, dark %v: %s", at, dark, v)
			}
			if wide := browsertest.Ask[int](t, b, "document.documentElement.scrollWidth"); wide > 390 {
				t.Errorf("%s is %d wide on a telephone", at, wide)
			}
		}
	}
	browsertest.Do(t, b, chromedp.SendKeys("#code", "wrong\r"))
	browsertest.Until(t, b, `document.querySelector("[role=alert]")`)
	b.Complaints() // the browser says 404 and 403 of the pages above
}
