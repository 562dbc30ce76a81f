package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"git-ward/internal/tier"
)

// What a page does wrong is heard, and found: a test that sees no fault has looked.
func TestFaultsAreSeen(t *testing.T) {
	tier.Full(t, "it starts a browser")
	file := filepath.Join(t.TempDir(), "page.html")
	page := `<!DOCTYPE html><html><head><title>x</title><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'"></head>
<body><img src="a.png"><p style="color:#eee">pale</p><script>alert(1)</script></body></html>`
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	b := Open(t)
	Do(t, b, chromedp.Navigate(File(t, file)))
	Look(t, b, 390, 844, true)
	if !Ask[bool](t, b, `matchMedia("(prefers-color-scheme: dark)").matches && innerWidth == 390`) {
		t.Error("it is not a dark telephone")
	}
	Until(t, b, `document.title == "x"`)
	if said := strings.Join(b.Complaints(), "\n"); !strings.Contains(said, "Content Security Policy") {
		t.Errorf("of the policy: %s", said)
	}
	found := ""
	for _, v := range Axe(t, b) {
		found += v.String() + "\n"
	}
	for _, id := range []string{"image-alt (critical)", "html-has-lang (serious)"} {
		if !strings.Contains(found, id) {
			t.Errorf("no %s in:\n%s", id, found)
		}
	}
	picture := filepath.Join(t.TempDir(), "page.png")
	Shot(t, b, picture)
	if info, err := os.Stat(picture); err != nil || info.Size() > 60<<10 {
		t.Error(info, err)
	}
}
