package loop

import (
	"fmt"
	"strings"
)

// MaxLearnings is the size of LEARNINGS.md beyond which it is compacted: 8,000
// tokens of four bytes (003, section 5.3; LOOP-3).
const MaxLearnings = 8000 * 4

// keepInFull is how many of the newest iterations compaction leaves alone.
const keepInFull = 3

// block is a part of LEARNINGS.md that starts at a `## ` heading; the first one
// is what stands before any.
type block struct {
	lines     []string
	iteration bool
}

func blocks(file string) []block {
	list := []block{{}}
	for line := range strings.SplitSeq(strings.TrimRight(file, "\n"), "\n") {
		if strings.HasPrefix(line, "## ") {
			list = append(list, block{iteration: strings.HasPrefix(line, "## Iteration ")})
		}
		last := &list[len(list)-1]
		last.lines = append(last.lines, line)
	}
	return list
}

// Compact shortens LEARNINGS.md when it is over MaxLearnings: all lane A lines
// stay, the newest three iterations stay in full, older ones become one witness
// line each, and a [COMPACTION] line says so. It returns the log line, "" when
// nothing was done; compacting twice changes nothing.
func Compact(file string) (compacted, log string) {
	if len(file) <= MaxLearnings {
		return file, ""
	}
	list := blocks(file)
	full, witnesses, first, last := 0, 0, -1, -1
	for i := len(list) - 1; i >= 0; i-- {
		if !list[i].iteration || distilled(list[i]) {
			continue
		}
		if full++; full <= keepInFull {
			continue
		}
		list[i].lines = witness(list[i].lines)
		witnesses++
		if last < 0 {
			last = i
		}
		first = i
	}
	if witnesses == 0 {
		return file, "" // all that could go is gone already
	}
	var b strings.Builder
	for i, blk := range list {
		if i == first {
			b.WriteString("[COMPACTION]\n") // its text is known when all lines are counted
		}
		b.WriteString(strings.Join(blk.lines, "\n") + "\n")
		if i < len(list)-1 && !strings.HasSuffix(b.String(), "\n\n") {
			b.WriteString("\n")
		}
	}
	text := b.String()
	log = fmt.Sprintf("[COMPACTION] Distilled %d iterations, the last of them %q, to %d witness lines. Original: %d lines -> %d lines.",
		witnesses, strings.TrimPrefix(list[last].lines[0], "## "), witnesses, strings.Count(file, "\n"), strings.Count(text, "\n"))
	return strings.Replace(text, "[COMPACTION]\n", log+"\n\n", 1), log
}

const witnessMark = "- witness: "

func distilled(b block) bool {
	return len(b.lines) > 1 && strings.HasPrefix(b.lines[1], witnessMark)
}

// witness is a block's heading, one line of what it was, and its lane A lines.
func witness(lines []string) []string {
	tried, supported, guesses := 0, 0, 0
	var facts []string
	value, direction, certificate, section := "", "", "", byte(0)
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "### ") {
			if _, after, ok := strings.Cut(line, "."); ok && after != "" {
				section = after[0]
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "- [A] "):
			facts = append(facts, line)
		case strings.HasPrefix(line, "- [B] "):
			supported++
		case strings.HasPrefix(line, "- [C] "):
			guesses++
		case section == '4':
			take(line, "- value: ", &value)
			take(line, "- direction: ", &direction)
			take(line, "- certificate: ", &certificate)
		case section == '1' && strings.HasPrefix(line, "- ") && line != "- none":
			tried++
		}
	}
	mark := fmt.Sprintf("%s%d tried, %d supported, %d guesses; residual %s, %s, certificate %s", witnessMark, tried, supported, guesses, value, direction, certificate)
	return append([]string{lines[0], mark}, facts...)
}

func take(line, prefix string, to *string) {
	if rest, ok := strings.CutPrefix(line, prefix); ok {
		*to = rest
	}
}
