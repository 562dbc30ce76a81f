package site

import (
	"os"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

func TestLook(t *testing.T) {
	dir := os.Getenv("LOOK")
	if dir == "" {
		t.Skip()
	}
	f := fixture{words: diag.Untrusted("添加速率限制器 für <script>alert(1)</script> \x1b[2J " + strings.Repeat("and more words ", 12)), n: 210, fails: "D-9"}
	os.RemoveAll(dir)
	r, err := Write(t.Context(), dir, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
}
