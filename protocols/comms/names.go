package comms

import (
	"strconv"
	"strings"
)

// name formats an id: "D-12".
func name(letter byte, id int) string { return string(letter) + "-" + strconv.Itoa(id) }

// parseName parses a name such as "D-12"; it returns 0 for any other text.
func parseName(s string, letter byte) int {
	if len(s) < 3 || s[0] != letter || s[1] != '-' {
		return 0
	}
	return parseID(s[2:])
}

// parseID parses a decimal from 1 to MaxID without leading zeros; it returns 0 for any other text.
func parseID(s string) int {
	if len(s) == 0 || len(s) > 9 || s[0] == '0' {
		return 0
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0
		}
	}
	id, _ := strconv.Atoi(s)
	return id
}

// leadingID guesses the id of a malformed directive heading.
func leadingID(head string) int {
	s := strings.TrimLeft(head, "# \t")
	if len(s) < 2 {
		return 0
	}
	s = s[2:]
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return parseID(s[:n])
}

// validReference reports whether s is a directive's name or "-".
func validReference(s string) bool { return s == "-" || parseName(s, 'D') != 0 }
