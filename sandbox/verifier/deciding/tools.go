package deciding

import (
	"path"
	"slices"
	"strings"
)

// flagFiles reads the files that a tool's flags name.
func (s *shell) flagFiles(args [][]string, h how) {
	flag := false
	for _, v := range flat(args) {
		_, value, ok := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(v, "-") && ok:
			s.literalFile(value, h)
		case flag && !strings.HasPrefix(v, "-"):
			s.literalFile(v, h)
		}
		flag = strings.HasPrefix(v, "-")
	}
}

// findCommand reads what find runs on what it finds.
func (s *shell) findCommand(args [][]string, h how) {
	for i, a := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a[0]) {
			continue
		}
		var line [][]string
		for _, word := range args[i+1:] {
			if word[0] == ";" || word[0] == "+" {
				break
			}
			line = append(line, []string{strings.ReplaceAll(word[0], "{}", unknown)})
		}
		if len(line) > 1 && line[len(line)-1][0] == unknown && s.runnable(line[0][0]) || len(line) > 0 && line[0][0] == unknown {
			s.r.openEnded = s.r.openEnded || !h.consumed
			continue
		}
		s.call(line, nil, h)
	}
}

// goCommand is the go command: what it runs is of a directory.
func (s *shell) goCommand(args [][]string, h how) {
	words := flat(args)
	if slices.Contains(words, "generate") {
		s.r.readGenerate(h)
	}
	if len(words) > 0 && words[0] == "run" {
		for _, v := range words[1:] {
			if strings.HasPrefix(v, "-") {
				continue
			}
			for _, dir := range s.dirs {
				if d := s.r.links.end(path.Join(dir, v)); d != "." && s.r.onBaseDir(d) {
					s.r.programDirs[d] = true
				}
			}
			s.literalFile(v, h)
			if !strings.HasSuffix(v, ".go") {
				break
			}
		}
	}
	s.flagFiles(args, h)
}
