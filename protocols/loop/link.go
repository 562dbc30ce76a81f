package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Link points at evidence: a repository-relative path and the SHA-256 of the raw
// blob. Evidence is linked, never copied into a capsule (003, section 4.1).
type Link struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Role   string `json:"role"`
}

// Roles lists the roles of links.
func Roles() []string { return []string{"plan", "log", "test", "artifact", "proof", "snapshot"} }

// Digest is the SHA-256 of a raw blob, lower-case hex.
func Digest(blob []byte) string {
	sum := sha256.Sum256(blob)
	return hex.EncodeToString(sum[:])
}

// check returns what is wrong with a link, or "".
func (l Link) check() string {
	switch {
	case !cleanPath(l.Path):
		return fmt.Sprintf("%.80q is not a path inside the repository", l.Path)
	case len(l.SHA256) != 64 || strings.Trim(l.SHA256, "0123456789abcdef") != "":
		return fmt.Sprintf("%.80q is not a SHA-256", l.SHA256)
	case !slices.Contains(Roles(), l.Role):
		return fmt.Sprintf("%.40q is not a role; there are %s", l.Role, strings.Join(Roles(), ", "))
	}
	return ""
}

// cleanPath reports whether p is relative, without .. and in its shortest form.
func cleanPath(p string) bool {
	return p != "" && len(p) <= 1024 && !strings.HasPrefix(p, "/") && path.Clean(p) == p && p != "." && p != ".." && !strings.HasPrefix(p, "../")
}

// Artifact is one file that an iteration produced: an entry of artifacts.json and manifest.json
// (003, section 10.3).
type Artifact struct {
	Iteration int    `json:"iteration"`
	Path      string `json:"file_path"`
	SHA256    string `json:"sha256"`
	Role      string `json:"role"`
}

// Artifacts is the content of artifacts.json and of manifest.json.
//
// A manifest lists only files of the record. Like a commit, it names its history by one hash: the
// previous iteration's manifest.
type Artifacts struct {
	SchemaVersion string     `json:"schema_version"`
	LoopID        string     `json:"loop_id"`
	Artifacts     []Artifact `json:"artifacts"`
	Previous      *Link      `json:"previous,omitempty"` // the manifest before; nil in the first one
}

// Empty reports whether an iteration produced nothing, which means EVIDENCE_INCOMPLETE and
// EXIT_BLOCKED (003, section 14).
func (a Artifacts) Empty() bool { return len(a.Artifacts) == 0 }

// Links returns the links of a capsule: the newest artifact of each path and the previous manifest,
// sorted by path.
func (a Artifacts) Links() []Link {
	newest := map[string]Link{}
	if a.Previous != nil {
		newest[a.Previous.Path] = *a.Previous
	}
	for _, m := range a.Artifacts {
		newest[m.Path] = Link{m.Path, m.SHA256, m.Role}
	}
	links := []Link{}
	for _, l := range newest {
		links = append(links, l)
	}
	slices.SortFunc(links, func(x, y Link) int { return strings.Compare(x.Path, y.Path) })
	return links
}

// problems lists what is wrong with the artifacts.
func (a Artifacts) problems() []string {
	var list []string
	if a.Previous != nil {
		if p := a.Previous.check(); p != "" {
			list = append(list, "previous: "+p)
		}
	}
	for i, m := range a.Artifacts {
		if p := (Link{m.Path, m.SHA256, m.Role}).check(); p != "" {
			list = append(list, fmt.Sprintf("artifact %d: %s", i+1, p))
		}
		if m.Iteration < 0 {
			list = append(list, fmt.Sprintf("artifact %d: iteration %d", i+1, m.Iteration))
		}
	}
	return list
}
