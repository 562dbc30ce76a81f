// Package keys manages a repository's own authorized_keys(5), which its launcher writes. Each
// line is a key for one lease or one verification, with the one command that it may run and
// its expiry for sshd(8) (MANY-4). sshd reads the file where its AuthorizedKeysFile names it.
package keys

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/keyline"
	"git-ward/internal/shellword"
	"git-ward/internal/token"
)

// Path is the file, relative to a repository.
const Path = "ward/" + keyline.File

// maxFile bounds the file, in bytes: some ten thousand keys.
const maxFile = 8 << 20

// expiry is the time format of a line. OpenSSH before 9.1 takes no Z and then refuses the key.
const expiry = "20060102150405Z"

// Key is one line.
type Key struct {
	Name   string    // as token.CheckName wants it; unique in the file
	Public string    // as New returns it
	Door   []string  // what follows `door --stdio --bare BARE`, such as --lease D-3.0123456789abcdef
	Until  time.Time // sshd refuses it from then on
}

// New makes a key pair: the private key in OpenSSH's format, and the public key as in a line
// of authorized_keys. The private key must stay in memory or in a Secret.
func New(name string) (private []byte, public string, err error) {
	open, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, "", err
	}
	block, err := ssh.MarshalPrivateKey(secret, name)
	if err != nil {
		return nil, "", err
	}
	line, err := ssh.NewPublicKey(open)
	if err != nil {
		return nil, "", err
	}
	return pem.EncodeToMemory(block), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))), nil
}

// File is a repository's keys.
type File struct {
	Bare    string // the repository, absolute
	Program string // absolute path of git-ward, for sshd
}

// Add adds a key, replacing one of the same name, and removes expired keys.
func (f File) Add(k Key, now time.Time) error {
	line, err := f.line(k)
	if err != nil {
		return err
	}
	return f.change(func(lines []string) []string {
		return append(slices.DeleteFunc(lines, func(l string) bool { return keyline.Name(l) == k.Name || over(l, now) }), line)
	})
}

// Remove revokes a key. The door ends connections that it has opened.
func (f File) Remove(name string) error {
	return f.Keep(func(other string) bool { return other != name })
}

// Keep revokes all keys except those whose names still count. It removes what a killed
// launcher left.
func (f File) Keep(counts func(name string) bool) error {
	if _, err := os.Lstat(filepath.Join(f.Bare, Path)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.change(func(lines []string) []string {
		return slices.DeleteFunc(lines, func(l string) bool { return keyline.Name(l) != "" && !counts(keyline.Name(l)) })
	})
}

// line formats a key for sshd(8).
func (f File) line(k Key) (string, error) {
	if err := token.CheckName(k.Name); err != nil {
		return "", err
	}
	if _, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(k.Public)); err != nil || len(rest) > 0 || strings.ContainsAny(k.Public, "\r\n\"") {
		return "", fmt.Errorf("the public key of %s is none", k.Name)
	}
	var command []string
	for _, word := range append([]string{f.Program, "door", "--stdio", "--bare", f.Bare}, k.Door...) {
		if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%q cannot stand in a file of keys", word)
		}
		command = append(command, shellword.Quote(word))
	}
	quoted := strings.ReplaceAll(strings.Join(command, " "), `"`, `\"`)
	return fmt.Sprintf(keyline.Begin+`%s",command="%s" %s %s`, k.Until.UTC().Format(expiry), quoted, k.Public, keyline.Comment(k.Name)), nil
}

// over reports whether a line of the launcher's has expired.
func over(line string, now time.Time) bool {
	_, rest, _ := strings.Cut(line, `expiry-time="`)
	text, _, _ := strings.Cut(rest, `"`)
	until, err := time.Parse(expiry, text)
	return keyline.Name(line) != "" && err == nil && now.After(until)
}

// change rewrites the file under a lock; a reader sees the old or the new file.
func (f File) change(to func(lines []string) []string) error {
	path := filepath.Join(f.Bare, Path)
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return notWritten(path) // reading a pipe would block
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	if text := strings.TrimRight(string(data), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	before := slices.Clone(lines)
	if lines = to(lines); slices.Equal(lines, before) {
		return nil
	}
	// A symbolic link belongs to the admin. A launch that has no key to write still starts.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return notWritten(path)
	}
	if len(lines) == 0 {
		lines = []string{keyline.Empty}
	}
	text := []byte(strings.Join(lines, "\n") + "\n")
	if len(text) > maxFile {
		return fmt.Errorf("%s would have more than %d bytes", path, maxFile)
	}
	return atomicfile.Write(path, text, 0o600)
}

func notWritten(path string) error {
	return diag.Hint(fmt.Errorf("%s is no regular file, so Ward does not write to it", path),
		"move it away: mv %s %s.before; sshd reads several files, so name yours beside this one in AuthorizedKeysFile", path, path)
}
