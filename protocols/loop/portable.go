package loop

import "strings"

// hostRoots begin paths of one machine, which mean nothing on another.
var hostRoots = []string{"/home/", "/root/", "/Users/", "/tmp/", "/bot/", "/mnt/", "/var/", "/proc/", `C:\`}

// hostMark stands in learnings for the beginning of such a path, and talkMark for what
// leads back into a talk.
const (
	hostMark = "[host]/"
	talkMark = "[...]"
)

// hostPath is the beginning of a machine's own path in a line, "" for none.
func hostPath(line string) string {
	for _, root := range hostRoots {
		if hostPathAt(line, root) >= 0 {
			return root
		}
	}
	return ""
}

// hostPathAt is where a line has a path below one root, -1 for nowhere.
func hostPathAt(line, root string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], root)
		if i < 0 {
			return -1
		}
		at := from + i
		if at == 0 || strings.IndexByte(" `\"'(=:\t", line[at-1]) >= 0 {
			return at
		}
		from = at + 1
	}
}

// portable is a text of learnings without what no capsule may hold (003, section 4.1):
// machines' own paths and references to a talk stand by marks. What somebody says, a
// verdict's reason, a directive's criterion, a tool or a model, so never keeps a loop from
// its next iteration. The PM's lines, and those that link an artifact where a talk is
// meant, stay as they are.
func portable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, pmMark) {
			lines[i] = portableLine(line)
		}
	}
	return strings.Join(lines, "\n")
}

func portableLine(line string) string {
	for _, root := range hostRoots {
		for at := hostPathAt(line, root); at >= 0; at = hostPathAt(line, root) {
			line = line[:at] + hostMark + line[at+len(root):]
		}
	}
	if strings.Contains(line, "#") {
		return line
	}
	for word := bleeds(line); word != ""; word = bleeds(line) {
		at := strings.Index(strings.ToLower(line), word)
		if len(strings.ToLower(line)) != len(line) { // a letter whose other case is longer moves what stands behind it
			return talkMark
		}
		line = line[:at] + talkMark + line[at+len(word):]
	}
	return line
}
