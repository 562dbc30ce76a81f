package setup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/gateway"
)

// TokenFile is where the token for a project is kept where [forge] token_file names no other
// place: below the caller's own settings, in no repository, because who reads a repository may
// read its files.
func TokenFile(c client.Config) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", diag.Hint(fmt.Errorf("no place is known for the token: %w", err), "set HOME or XDG_CONFIG_HOME, or [forge] token_file")
	}
	_, host, _ := strings.Cut(c.URL, "://")
	rel := filepath.FromSlash(host + "/" + c.Owner + "/" + c.Name)
	if !filepath.IsLocal(rel) || filepath.Clean(rel) != rel {
		return "", fmt.Errorf("%q is no name of a project", c.Owner+"/"+c.Name)
	}
	return filepath.Join(dir, "ward", "forge", rel+".token"), nil
}

// Kept is the token that a file has; the zero one where there is no such file.
func Kept(file string) (gateway.Key, error) {
	key, err := gateway.ReadKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		return gateway.Key{}, nil
	}
	return key, err
}

// Keep writes a token where only its owner reads it.
func Keep(file string, key gateway.Key) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.WritePrivate(file, []byte(key.Reveal()+"\n"), 0o600)
}

// maxToken bounds what is read of a token, in bytes.
const maxToken = 4096

// Ask reads a token from one line: a person types it at a terminal, which does not show it, or a
// program pipes it. A command line would show it to everybody on the machine.
func Ask(in io.Reader, say io.Writer, what string) (gateway.Key, error) {
	hint := "on standard input: git ward init --forge URL <FILE"
	if f, ok := in.(*os.File); ok {
		if mode, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
			hidden := *mode
			hidden.Lflag = hidden.Lflag&^unix.ECHO | unix.ECHONL
			if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &hidden); err != nil {
				return gateway.Key{}, fmt.Errorf("the terminal would show the token: %w", err)
			}
			defer unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, mode) //nolint:errcheck // the shell sets its own again
			fmt.Fprintf(say, "the token for %s: ", what)
		}
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxToken)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return gateway.Key{}, fmt.Errorf("reading the token: %w", err)
	}
	key, err := gateway.NewKey(line)
	if err == nil && key.IsZero() {
		err = fmt.Errorf("there is no token for %s", what)
	}
	if err != nil {
		return key, diag.Hint(err, "make one on the forge for a user of Ward's own, and give it %s", hint)
	}
	return key, nil
}
