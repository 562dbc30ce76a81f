package launch

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// The measures of a picture, in pixels.
const (
	wordsWide = 300
	barsWide  = 700
	rowHigh   = 20
	ticks     = 10
)

// draw is a directive's way as a picture: a row for each span, by its begin, over one axis.
func draw(name string, spans []span) []byte {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), b.to.Compare(a.to)) })
	from, to := spans[0].from, spans[0].to
	for _, s := range spans {
		if s.to.After(to) {
			to = s.to
		}
	}
	whole := max(to.Sub(from), time.Millisecond)
	x := func(at time.Time) float64 { return wordsWide + barsWide*float64(at.Sub(from))/float64(whole) }
	wide, high := wordsWide+barsWide+90, (len(spans)+3)*rowHigh
	title := fmt.Sprintf("%s: %s in %s", name, diag.Count(len(spans), "step"), inMS(whole))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n", wide, high)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"8\" y=\"15\" font-weight=\"bold\">%[1]s</text>\n", html.EscapeString(title))
	for i := range ticks + 1 {
		at := from.Add(whole * time.Duration(i) / ticks)
		fmt.Fprintf(&b, "<path d=\"M%.1f %dV%d\" stroke=\"#ddd\"/><text x=\"%.1[1]f\" y=\"%[4]d\" fill=\"#555\" text-anchor=\"middle\">%[5]s</text>\n", x(at), 2*rowHigh, high-rowHigh, high-6, inMS(at.Sub(from)))
	}
	for i, s := range spans {
		y := (i + 2) * rowHigh
		took := inMS(s.to.Sub(s.from))
		if s.from.Equal(s.to) {
			took = "at " + inMS(s.to.Sub(from))
		}
		fmt.Fprintf(&b, "<text x=\"8\" y=\"%d\">%s</text><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#36c\"/><text x=\"%.1f\" y=\"%d\">%s</text>\n",
			y+14, html.EscapeString(diag.Cut(s.words, 44)), x(s.from), y+3, max(x(s.to)-x(s.from), 2), rowHigh-6, x(s.to)+5, y+14, took)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// inMS is a time in whole milliseconds.
func inMS(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
