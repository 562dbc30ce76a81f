// Package token is the contract between a door and the hooks: how a push proves that it came
// through a door, and who sent it (ID-1, ID-4).
//
// A door gives receive-pack a push id and the HMAC-SHA256 of it under the
// repository's key, which only the owner can read. The plain form HMAC(key, id)
// is the agent's. The bound form HMAC(key, id NUL principal NUL name) is for the
// principal and the name that stand beside it: neither can be changed.
package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The environment of a door's receive-pack. Principal and Name are set together,
// or not at all for the plain form.
const (
	IDVar        = "WARD_PUSH_ID"
	TokenVar     = "WARD_PUSH_TOKEN"
	PrincipalVar = "WARD_PRINCIPAL"
	NameVar      = "WARD_NAME"
)

// KeyFile is a repository's key, relative to its directory. Whoever can read it can push as
// anybody.
const KeyFile = "ward/door.key"

// The size of a key in bytes, at least that of SHA-256's output (RFC 2104, section 3).
const MinKey, MaxKey = sha256.Size, 4096

// Plain is the lower-case hex token of a push by the agent.
func Plain(key []byte, id string) string { return sum(key, id) }

// Bound is the lower-case hex token of a push by a principal under a name.
func Bound(key []byte, id, principal, name string) string {
	return sum(key, id+"\x00"+principal+"\x00"+name)
}

func sum(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// Equal compares two tokens in constant time. A token that is not hex equals nothing.
func Equal(a, b string) bool {
	x, err := hex.DecodeString(a)
	y, err2 := hex.DecodeString(b)
	return err == nil && err2 == nil && hmac.Equal(x, y)
}

// Environ returns what a door adds to receive-pack's environment for one push. Without
// principal and name it is the plain form.
func Environ(key []byte, id, principal, name string) []string {
	if principal == "" {
		return []string{IDVar + "=" + id, TokenVar + "=" + Plain(key, id)}
	}
	return []string{IDVar + "=" + id, PrincipalVar + "=" + principal, NameVar + "=" + name,
		TokenVar + "=" + Bound(key, id, principal, name)}
}

// Proved returns the principal and name that the environment's variables prove under a key; ok
// is false if they prove nothing. The plain form has no name.
func Proved(key []byte, env map[string]string) (name string, ok bool) {
	want := Plain(key, env[IDVar])
	if env[PrincipalVar] != "" || env[NameVar] != "" {
		want = Bound(key, env[IDVar], env[PrincipalVar], env[NameVar])
	}
	return env[NameVar], env[IDVar] != "" && Equal(env[TokenVar], want)
}

// NewID names one push: the UTC second, for people, and 64 random bits. It
// serves as a file name, so it holds [0-9A-Za-z-] only.
func NewID(now time.Time) string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return now.UTC().Format("20060102T150405Z-") + hex.EncodeToString(b[:])
}

// CheckID returns an error for a push id that cannot be a file name.
func CheckID(id string) error {
	if len(id) < 8 || len(id) > 80 || strings.ContainsFunc(id, func(r rune) bool { return !letter(r) && !digit(r) && r != '-' }) {
		return errors.New("the push id is not one that the door makes")
	}
	return nil
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func digit(r rune) bool  { return r >= '0' && r <= '9' }

// maxName is the longest name of a pusher, in bytes; mail addresses fit.
const maxName = 128

// CheckName says what a pusher's name must be, wherever it comes from, because it
// is printed, recorded and compared as it is: ASCII letters and digits and
// . _ @ + -, beginning with a letter, a digit or _, so that it is never taken for
// an option, a path or a group of [identity]. A number alone is a user id there,
// not a name. The error quotes nothing that could deceive.
func CheckName(name string) error {
	number := true
	for i, r := range name {
		first := letter(r) || digit(r) || r == '_'
		if !first && (i == 0 || !strings.ContainsRune(".@+-", r)) {
			return fmt.Errorf("%+q is no name of a pusher: it is letters, digits and . _ @ + -, and begins with a letter, a digit or _", name[:min(len(name), maxName)])
		}
		number = number && digit(r)
	}
	switch {
	case name == "":
		return errors.New("a pusher's name is empty")
	case len(name) > maxName:
		return fmt.Errorf("a pusher's name has %d bytes, more than %d", len(name), maxName)
	case number:
		return fmt.Errorf("%q is a number, which [identity] takes for a user id; a pusher's name is not one", name)
	}
	return nil
}
