package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
)

// terminal is a pseudo terminal: what is written to tty comes out of the other end.
func terminal(t *testing.T) (other, tty *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { other.Close() })
	fd := int(other.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return other, tty
}

// TestProgramsOutput: a program's own bytes reach a pipe or a file as they are, a
// terminal cleaned, and a terminal raw only by Raw.
func TestProgramsOutput(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	io.WriteString(cli.Bytes(diag.NewScreen(file)), evil)
	if data, err := os.ReadFile(file.Name()); err != nil || string(data) != evil {
		t.Errorf("a file got %q, %v", data, err)
	}
	other, tty := terminal(t)
	s := diag.NewScreen(tty)
	io.WriteString(cli.Bytes(s), "a\x1b[2J\u009bz\n")
	io.WriteString(cli.Raw(s), "r\x1b[2Jz\n")
	b := make([]byte, 200)
	n := 0
	for strings.Count(string(b[:n]), "\n") < 2 { // a line may come in more than one read
		m, err := other.Read(b[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	if got := strings.ReplaceAll(string(b[:n]), "\r\n", "\n"); got != `a\x1b[2J\u009bz`+"\nr\x1b[2Jz\n" {
		t.Errorf("a terminal got %q", got)
	}
}
