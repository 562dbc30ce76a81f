package broken

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
	"git-ward/internal/shellword"
)

// shellLooks makes a script record, before its first line, what its shell runs for each command of its
// text, and compare later: a script that it sources may put a function, an alias or another program in
// the place of `test` or `diff`. It restores in a subshell the commands that it needs itself. After a
// sourced script it also checks that the options that were on, such as -e, still are: bash lists them as
// words with colons, another shell as letters.
const shellLooks = `ward_kind() (
	set +eu
	POSIXLY_CORRECT=1
	\unset -f command hash
	\hash -r
	ward_is=$(\command -V "$1") || ward_is=
	\unset -f printf
	\printf '%%s' "${ward_is%%%%
*}"
) 2>/dev/null
ward_found() { printf '%%s%%s%%s\n' %[1]s %[2]s "$1" 2>/dev/null >>"${TMPDIR:-/tmp}/%[3]s" || :; }
ward_taken() {
	case $1 in '' | "$(ward_kind "$2")") ;; *) ward_found "$2" ;; esac
}
ward_on=
ward_off() {
	case $1 in
	*:*)
		case ":$2" in *":${1%%%%:*}:"*) ;; *) ward_found "set -o ${1%%%%:*}" ;; esac
		ward_off "${1#*:}" "$2" ;;
	?*)
		case $2 in *"${1%%"${1#?}"}"*) ;; *) ward_found "set -${1%%"${1#?}"}" ;; esac
		ward_off "${1#?}" "$2" ;;
	esac
}
%[4]s
ward_look() {
	ward_was=$?
	ward_is=${SHELLOPTS:+$SHELLOPTS:}
	ward_off "$ward_on" "${ward_is:-$-}"
	ward_on=
%[5]s	return $ward_was
}
`

// shellWord matches a command's name in a script.
var shellWord = pattern.New(`^(?:\[|[A-Za-z_][\w.+-]*)$`)

// shellTaken adds the check to a script, also after each statement that sources another, because a later
// statement may end the shell. The check stands in the same line, because a here-document may follow the
// line. It is an AND-OR list, which keeps $? for what follows and does not end the shell under `set -e`.
func shellTaken(file *syntax.File, text string, m mark) (edits []edit) {
	var names, own []string
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			own = append(own, n.Name.Value)
		case *syntax.CallExpr:
			if len(n.Args) > 0 && shellWord.MatchString(n.Args[0].Lit()) {
				names = append(names, n.Args[0].Lit())
			}
		}
		return true
	})
	slices.Sort(names)
	had, looks, i := "", "", 0
	for _, name := range slices.Compact(names) {
		if slices.Contains(own, name) {
			continue
		}
		had += fmt.Sprintf("ward_had%d=$(ward_kind %s)\n", i, shellword.Quote(name))
		looks += fmt.Sprintf("\tward_taken \"$ward_had%d\" %s\n", i, shellword.Quote(name))
		i++
	}
	first := 0
	if strings.HasPrefix(text, "#!") {
		line, _, _ := strings.Cut(text, "\n")
		first = min(len(line)+1, len(text))
	}
	edits = append(edits, edit{first, first, fmt.Sprintf(shellLooks, m.word, shellword.Quote(m.finds(isReplaced)), File(m.word), had, looks)})
	for _, s := range file.Stmts[:max(len(file.Stmts)-1, 0)] {
		end := int(s.End().Offset())
		if !shellReads(s) || strings.Contains(text[s.Pos().Offset():end], "<<") {
			continue
		}
		looks := "; ward_look && :"
		if s.Semicolon.IsValid() {
			looks = " ward_look && :;"
		}
		at := int(s.Pos().Offset())
		edits = append(edits, edit{at, at, "ward_on=${SHELLOPTS:+$SHELLOPTS:}; ward_on=${ward_on:-$-}; "}, edit{end, end, looks})
	}
	return edits
}

// shellReads reports whether a statement sources another script.
func shellReads(s *syntax.Stmt) (reads bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		reads = reads || readsScript(n)
		return true
	})
	return reads
}

// readsScript reports whether a node is a command that sources a script, however it is spelled: quoted,
// or after `command` or `builtin`.
func readsScript(n syntax.Node) bool {
	call, ok := n.(*syntax.CallExpr)
	if !ok {
		return false
	}
	past := false
	for _, arg := range call.Args {
		switch word := strings.ReplaceAll(shellText(arg.Parts), `\`, ""); {
		case word == "." || word == "source":
			return true
		case word == "command" || word == "builtin":
			past = true
		case !past || !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return false
}
