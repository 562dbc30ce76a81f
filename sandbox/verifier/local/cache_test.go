package local

import (
	"strings"
	"testing"
)

// TestHiding: an address of [verify] cache_sources is not told with what it holds besides a host.
func TestHiding(t *testing.T) {
	hide := hiding([]string{"GOPROXY=https://t0ken@proxy.example/go,direct", "npm_config_registry=https://git:p%2Fw@npm.example/", "PIP_INDEX_URL=https://pip.example/simple", "broken", "GOPRIVATE_PROXY=https://t0kent0ken:x-oauth-basic@go.example"})
	for said, want := range map[string]string{
		`reading https://t0ken@proxy.example/go/x/@v/list: 403`: `reading [cache_sources]/x/@v/list: 403`,
		`user t0ken is not known`:                               `user [cache_sources] is not known`,
		`npm: https://git:p%2Fw@npm.example/left-pad`:           `npm: [cache_sources]left-pad`,
		`p/w and p%2Fw and git`:                                 `[cache_sources] and [cache_sources] and git`,
		`https://t0kent0ken:xxxxx@go.example/@v: 401`:           `https://[cache_sources]:xxxxx@go.example/@v: 401`,
		`https://pip.example/simple/a is not found, direct`:     `https://pip.example/simple/a is not found, direct`,
	} {
		if got := hide.Replace(said); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// Of two secrets that begin alike the longer one goes whole.
	if got := hiding([]string{"A=https://t0kent0ken@a.example", "B=https://t0kent0kenAndMore@b.example"}).Replace("with t0kent0kenAndMore"); got != "with [cache_sources]" {
		t.Error(got)
	}
	if got := hiding(nil).Replace("as it was"); got != "as it was" || strings.Contains(got, "[") {
		t.Error(got)
	}
}
