package loop

import "strings"

// hostRoots are beginnings of paths that mean nothing on another machine.
var hostRoots = []string{"/home/", "/root/", "/Users/", "/tmp/", "/bot/", "/mnt/", "/var/", "/proc/", `C:\`}

// In learnings, hostMark replaces the beginning of such a path, and talkMark a reference to a
// conversation.
const (
	hostMark = "[host]/"
	talkMark = "[...]"
)

// hostPath returns the root of the first of hostRoots that a line has a path below, or "".
func hostPath(line string) string {
	for _, root := range hostRoots {
		if hostPathAt(line, root) >= 0 {
			return root
		}
	}
	return ""
}

// hostPathAt returns the index of the first path below root in a line, or -1.
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

// portable replaces by marks what no capsule may contain (003, section 4.1): paths of one machine
// and references to a conversation. So no text of a verdict, a criterion, a tool or a model can
// stop a loop. The PM's lines stay as they are, and so do references to a conversation on a line
// that links an artifact.
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
		if at+len(word) > len(line) || !strings.EqualFold(line[at:at+len(word)], word) {
			return talkMark // lower case has another length, so at is no index into line
		}
		line = line[:at] + talkMark + line[at+len(word):]
	}
	return line
}
