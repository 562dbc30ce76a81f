package deciding

import (
	"path"
	"strings"
)

// links are main's symbolic links: each with where it leads, as a path from the
// tree's top.
type links map[string]string

// maxHops bounds how many links are followed one after the other, as kernels do.
const maxHops = 40

func readLinks(blobs Blobs, main Tree) (links, error) {
	l := links{}
	for name, entry := range main {
		id, isLink := strings.CutPrefix(entry, "120000 ")
		if !isLink {
			continue
		}
		target, err := blobs(id, 4<<10)
		if err != nil {
			return nil, err
		}
		if !path.IsAbs(string(target)) {
			l[name] = path.Join(path.Dir(name), string(target))
		}
	}
	return l, nil
}

// end is the path that a path leads to when every link on it is followed.
func (l links) end(name string) string { return l.follow(name, map[string]bool{}) }

// follow is end; it notes in passed each link on the way, and the end: who changes
// one of them changes what is run.
func (l links) follow(name string, passed map[string]bool) string {
	if len(l) == 0 {
		return name
	}
	for range maxHops {
		link, rest := l.first(name)
		if link == "" {
			break
		}
		passed[link] = true
		name = path.Join(l[link], rest)
	}
	passed[name] = true
	return name
}

// first is the first part of a path that is a link, and what is behind it.
func (l links) first(name string) (link, rest string) {
	for i := 0; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			if _, ok := l[name[:i]]; ok {
				return name[:i], name[i:]
			}
		}
	}
	return "", ""
}
