package task

import (
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/lesson"
)

// found is the heading for the host's verdicts in a post-mortem; the rest was written before
// them.
const found = "## 5. What the host found"

// AddVerdict is a post-mortem with one more verdict of the host's: of what it is, such as
// "D-1.1, iteration 0", and what it says, in words. What is there already is not said
// twice, and what would be too long is left out.
func AddVerdict(text, of, words string) string {
	line := "- " + diag.Clean(of+": "+words)
	for have := range strings.Lines(text) {
		if strings.TrimSpace(have) == line {
			return text
		}
	}
	head, below, has := strings.Cut("\n"+text, "\n"+found+"\n")
	if !has {
		head, below = "\n"+strings.TrimRight(text, "\n")+"\n", ""
	}
	own, rest, more := strings.Cut(below, "\n## ")
	if more {
		rest = "\n## " + rest
	}
	own = strings.TrimSpace(own)
	if own != "" {
		own += "\n"
	}
	with := head[1:] + "\n" + found + "\n\n" + own + line + "\n" + rest
	if len(with) > lesson.MaxPostMortem {
		return text
	}
	return with
}

// verdicts is a post-mortem's section with that heading; "" for none.
func verdicts(text string) string {
	_, below, has := strings.Cut("\n"+text, "\n"+found+"\n")
	if !has {
		return ""
	}
	own, _, _ := strings.Cut(below, "\n## ")
	return "\n" + found + "\n\n" + strings.TrimSpace(own) + "\n"
}
