package comms

import (
	"fmt"
	"strings"
	"testing"
)

// hiding are texts that Markdown shows as something else than their text, or that hide or
// reorder what stands below them.
var hiding = map[string]string{
	"an open comment":             "fine\n\n<!-- ",
	"a comment in a line":         "fine <!-- and on",
	"an open fence":               "```\nfine",
	"an open fence of tildes":     "~~~ text\nfine",
	"a fence in a list":           "- fine\n\n  ```\n  open",
	"a setext heading":            "R-9 2026-11-21T09:00:00Z D-2 DONE\n---",
	"a setext heading of equals":  "Reports\n=======",
	"a heading in a list":         "- a\n\n    ## Reports",
	"a heading in a numbered one": "1. ## Questions",
	"a heading in a quote":        "> ## Reports",
	"an element":                  "<details><summary>fine</summary>",
	"an element in a sentence":    "fine <b hidden>and",
	"raw text":                    "<script>",
	"raw text of another kind":    "<textarea>",
	"a heading as an element":     "text\n<h2>Reports</h2>",
	"a declaration":               "<!DOCTYPE x",
	"character data":              "<![CDATA[",
	"an instruction":              "<?php",
	"a reference's target":        "[R-1]: https://example.com",
	"a footnote":                  "[^1]: at the end",
	"an image":                    "![fine](https://example.com/x.png)",
	"a link that says another":    "see [R-1](https://example.com)",
	"a table":                     "a | b\n--|--\n",
	"a rule":                      "fine\n\n***",
	"mathematics":                 "$$\nfine",
	"an entity":                   "1 &lt; 2",
	"an escape":                   `\# fine`,
	"an alert":                    "> [!WARNING]\n> fine",
	"a task in a list":            "* [ ] fine",
	"a comment below the hash":    "<!--",
	"a formula":                   "fine $x^2$ and",
	"a formula behind a price":    "fine, $5 is x$ and",
	"a formula in code":           "fine $`x`$ and",
	"a line through it":           "not ~~fine~~ at all",
	"a line through it, single":   "from HEAD~1 to HEAD~3",
	"a lowered word":              "H~2~O",
	"a raised word":               "2^10 is not 210",
	"a raised word of two":        "x^2^",
	"a note in a line":            "fine ^[hidden] and",
	"a mark for a footnote":       "fine[^1] and",
	"a name for a block":          "fine ^x-1",
	"a class":                     "fine {: .hidden}",
	"a class behind emphasis":     "*fine*{: .hidden} and",
	"a comment of kramdown":       "fine {::comment}hidden{:/comment} and",
	"a comment of Obsidian":       "fine %%hidden%% and",
	"a template":                  "fine {{ x }} and",
	"a page of a wiki":            "fine [[x]] and",
	"a page with other words":     "- fine [[x]]",
	"a list of contents":          "[TOC]",
	"a list of contents in one":   "- [TOC]",
	"a link by reference":         "fine [R-1][x] and",
	"a change":                    "fine [-hidden-] and [+shown+]",
	"a mark":                      "fine ==x== and x==y==z",
	"an insertion":                "C++11 and C++14",
	"a picture by name":           "D-1 :white_check_mark:",
	"a picture by number":         "x.go:100:5 is wrong",
	"a picture between words":     "a:x:b",
	"emphasis within words":       "2*3*4",
	"emphasis of a name":          "it calls __init__ there",
	"emphasis over files":         "all *.go and x.* there",
	"emphasis without end":        "fine **and",
	"a formula that ends in code": "fine $5 `x$` and",
	"a formula over lines":        "fine $5\n`x$` and",
	"a stroke that ends in code":  "fine ~5`x~` and",
	"an address with a character": "http://a.b/%41",
	"an address that has code":    "http://a.b/c`:x:` and",
	"an address without a scheme": "www.a.b/c`:x:` and",
	"code over lines":             "fine `and\non` it goes",
	"code of two":                 "fine ``and`` on",
	"items that are counted":      "1. fine\n3. fine",
	"items that are counted at 1": "1. fine\n\n1. fine",
	"items a step in":             "1. fine\n 1. fine",
	"an item of another number":   "fine\n\n7. fine",
}

// TestShown: whatever an agent says stands in COMMS.md as prose, or as a block of code as a
// whole, of which nothing ends, and the gate takes nothing else from it.
func TestShown(t *testing.T) {
	src := []byte("# COMMS\n\n## Directives\n\n### D-1: x\n- [ ] y\n\n## Reports\n")
	for name, text := range hiding {
		hash := ""
		if strings.HasSuffix(name, "hash") {
			hash = strings.Repeat("a", 64)
		}
		out, _, err := appendReport(src, NewReport{Time: noon, Directive: "D-1", Status: Done, Text: text, DirectiveHash: hash})
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(parseClean(t, string(out)).Reports[0].Raw, "\n")
		if got := Unlaid(asText(text)); got != text {
			t.Errorf("%s is read back as %q", name, got)
		}
		if hash != "" {
			var ok bool
			if body, ok = strings.CutPrefix(body, "Directive: "+hash+"\n\n"); !ok {
				t.Errorf("%s goes on with the paragraph above: %q", name, body)
			}
		}
		for line := range strings.SplitSeq(body, "\n") {
			if !isBlank(line) && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s: the line %q is not shown as it stands", name, line)
			}
		}
		if ds := CheckAgentChange(src, out, nil); len(ds) > 0 {
			t.Errorf("%s: %v", name, ds)
		}
		raw := string(src) + "\n### R-1 2026-11-21T12:00:00Z D-1 INFO\n" + text + "\n"
		if ds := CheckAgentChange(src, []byte(raw), nil); !strings.Contains(fmt.Sprint(ds), "COMMS.md") {
			t.Errorf("%s: the gate takes it from an agent", name)
		}
		raw = string(src) + "\n## Questions\n\n### Q-1 2026-11-21T12:00:00Z D-1\n" + text + "\n"
		if ds := CheckAgentChange(src, []byte(raw), nil); len(ds) == 0 {
			t.Errorf("%s: the gate takes it as a question", name)
		}
	}
	for _, text := range []string{
		"Two words, and `a command --with=options`.\n\n- [x] a criterion (`go test ./...`)\n- another\n  that goes on\n\n1. First.\n2) Second: 1.5 GB of 3\n\n**Bold** it is, \"quoted\" (and so on).",
		"Überall 漢字 🙂\nhttps://example.com/x_y\n./bin/x",
		"    code\n\n    <!-- that stays -->",
		"It costs $5, or US$6 to ($7), which is 50% of it, 100%.\n$5 more, in ~/x and ~5 minutes; snake_case, größe_ä, C++ and a == b -> c.",
		"At 2026-11-21T09:00:00Z, x.go:12:5: [limits] alloc=3, arr[0] (see [limits]), 2 * 3 * 4, *some* and (**bold `x`**).",
		"Code is free: `$x$ ~~y~~ {: .z} [[a]] %% ^ :x: **` and `*`.",
		"1. One.\n   1. In it.\n   2. Also.\n\n   Goes on.\n2. Two\n\nThen:\n\n1. Again.\n- 1. In a dash.\n- 1. In the next.",
	} {
		if got := asText(text); got != text {
			t.Errorf("prose is laid out anew: %q", got)
		}
	}
}

// FuzzShown: what is laid out once stays as it is.
func FuzzShown(f *testing.F) {
	for _, text := range hiding {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := fitted(text, MaxReportBytes, cutMarker)
		if len(once) > MaxReportBytes || !shown(once) || asText(once) != once {
			t.Errorf("%q", once)
		}
	})
}
