package fence

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier/cache"
)

// TestStdOfItsImage: a fence has the compiled standard library of its own image and toolchain, and holds
// it until it is closed. Another's, one of an image without Go, and half of one are none.
func TestStdOfItsImage(t *testing.T) {
	at := Podman{Storage: t.TempDir()}
	goRoot := filepath.Join(t.TempDir(), "go")
	if err := os.Mkdir(goRoot, 0o755); err != nil {
		t.Fatal(err)
	}
	version := func(text string) {
		if err := os.WriteFile(filepath.Join(goRoot, "VERSION"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	std := func(image string) string {
		t.Helper()
		c := &Connection{Engine: &podman.Engine{}, GoRoot: goRoot, std: at.std(), stdKey: stdKey(image, goRoot)}
		f, err := c.New(t.TempDir(), firewall.Policy{}, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, ok := f.Std()
		if ok != (m.Source != "") || ok && (!m.ReadOnly || m.Target != InsideStd) {
			t.Errorf("%+v, %v", m, ok)
		}
		return m.Source
	}
	fill := func(image string, names ...string) {
		t.Helper()
		err := at.std().Fill(t.Context(), stdKey(image, goRoot), image, []cache.Kind{cache.Go}, 0, func(_ *cache.Entry, w io.Writer) error {
			files := tar.NewWriter(w)
			for _, name := range names {
				if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
					return err
				}
			}
			return files.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	version("go1.26.8")
	if from := std("aa11"); from != "" {
		t.Errorf("nothing was compiled: %s", from)
	}
	fill("aa11", "go/ab/x-a")
	fill("bb22") // there is no Go
	from := std("aa11")
	if !strings.HasPrefix(from, at.Storage) || filepath.Base(from) != "go" {
		t.Errorf("its image's: %q", from)
	}
	for _, image := range []string{"bb22", "cc33"} {
		if from := std(image); from != "" {
			t.Errorf("of image %s: %s", image, from)
		}
	}
	version("go1.26.9")
	if from := std("aa11"); from != "" {
		t.Errorf("of another toolchain: %s", from)
	}
	version("go1.26.8")
	if err := os.Remove(filepath.Join(filepath.Dir(from), "ward.json")); err != nil {
		t.Fatal(err)
	}
	if from := std("aa11"); from != "" {
		t.Errorf("without a seal: %s", from)
	}
}
