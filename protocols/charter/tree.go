package charter

import (
	"fmt"

	"git-ward/internal/diag"
)

// Check finds every fault in a tree of protocols: those of each file, and duplicate ids. A
// duplicate id is reported at each of its places, so that whoever changed one of them sees it.
func Check(files []File) []diag.Diagnostic {
	var all []diag.Diagnostic
	seen := map[string][]location{}
	order := []string{}
	for _, f := range sources(files) {
		if IsProse(f.Path) {
			all = append(all, CheckProse(f)...)
			continue
		}
		p := &parser{report: report{file: f}}
		if p.sized() {
			if root, fault := readNode(f.Data); fault != nil {
				p.add(fault.offset, "protocol/json", fault.message, fault.hint)
			} else {
				p.protocol(&root)
			}
		}
		all = append(all, p.found...)
		for _, id := range p.ids {
			key := id.kind + " " + id.id
			if len(seen[key]) == 0 {
				order = append(order, key)
			}
			line, col := position(f.Data, id.offset)
			seen[key] = append(seen[key], location{diag.Pos{Path: f.Path, Line: line, Col: col}, id})
		}
	}
	for _, key := range order {
		all = append(all, doubles(seen[key])...)
	}
	return all
}

// location is an id with its position in the tree.
type location struct {
	diag.Pos
	definedID
}

func doubles(at []location) (found []diag.Diagnostic) {
	for i, l := range at {
		if len(at) == 1 {
			break
		}
		other := at[0]
		if i == 0 {
			other = at[1]
		}
		found = append(found, diag.Diagnostic{Pos: l.Pos, Rule: "protocol/duplicate", Severity: diag.Error,
			Message: fmt.Sprintf("the %s %q stands at %s, too", l.kind, l.id, other.Pos),
			Hint:    "give one of them another id: lessons and plans name rules by it"})
	}
	return found
}
