package lease_test

import (
	"strings"
	"testing"
	"time"

	"git-ward/protocols/lease"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var anID = [lease.IDBytes]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}

const written = `{"version":1,"directive":"D-3","id":"0123456789abcdef","holder":"alpha.2","where":"kube ward/ward-app-d-3-1","since":"2026-11-21T12:00:00Z","until":"2026-11-21T12:10:00Z"}` + "\n"

// TestForm: there is one way to write a lease, and whatever departs from it is nobody's.
func TestForm(t *testing.T) {
	l, err := lease.Parse("D-3", []byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := l.Format(); err != nil || string(data) != written {
		t.Errorf("%s %v", data, err)
	}
	for _, c := range [][2]string{
		{`"version":1`, `"version":2`},
		{`"version":1,`, ``},
		{`"D-3"`, `"D-4"`},
		{`"D-3"`, `"D-03"`},
		{`"D-3"`, `"../D-3"`},
		{`0123456789abcdef`, `0123456789ABCDEF`},
		{`0123456789abcdef`, `0123456789abcde`},
		{`0123456789abcdef`, ``},
		{`alpha.2`, `-alpha`},
		{`alpha.2`, ``},
		{`kube ward`, `kube\nward`},
		{`kube ward`, `kube \u001b[31mward`},
		{`kube ward`, `k` + strings.Repeat("u", 600)},
		{`12:00:00Z`, `12:00:00.5Z`},
		{`12:00:00Z`, `13:00:00+01:00`},
		{`12:00:00Z`, `noon`},
		{`2026-11-21T12:10`, `0001-01-01T00:00`},
		{`"since"`, `"Since"`},
		{`{"version"`, `{"more":1,"version"`},
		{`{"version":1`, `{"version":1,"version":1`},
		{`{"version"`, `{ "version"`},
		{"}\n", "}"},
		{"}\n", "}\n{}\n"},
		{"}\n", "}" + strings.Repeat("\n", 5000)},
		{written, ""},
		{written, "null\n"},
	} {
		bad := strings.Replace(written, c[0], c[1], 1)
		if bad == written {
			t.Fatalf("%q is not in it", c[0])
		}
		if _, err := lease.Parse("D-3", []byte(bad)); err == nil {
			t.Errorf("%q in place of %q is read", c[1], c[0])
		} else if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("the error repeats it raw: %q", err)
		}
	}
}

// TestTime: when a lease holds, when another may take it, and when nobody may.
func TestTime(t *testing.T) {
	l := lease.New("D-3", anID, "alpha.1", "podman", noon, 10*time.Minute)
	for _, c := range []struct {
		what       string
		after      time.Duration // noon
		live, free bool
		doubt      bool
	}{
		{"taken", 0, true, false, false},
		{"a second before its end", 10*time.Minute - time.Second, true, false, false},
		{"at its end", 10 * time.Minute, false, false, false},
		{"in the grace", 11*time.Minute - time.Second, false, false, false},
		{"after the grace", 11 * time.Minute, false, true, false},
		{"the clock an hour back", -time.Hour, true, false, false},
		{"the clock more than an hour back", -time.Hour - time.Second, false, false, true},
		{"a day later", 24 * time.Hour, false, true, false},
	} {
		now := noon.Add(c.after)
		if l.Live(now) != c.live || l.Free(now) != c.free || (l.Doubt(now) != nil) != c.doubt {
			t.Errorf("%s: live %v, free %v, doubt %v", c.what, l.Live(now), l.Free(now), l.Doubt(now))
		}
	}
	endless := l
	endless.Until = noon.Add(48 * time.Hour)
	if endless.Live(noon) || endless.Free(noon) || endless.Doubt(noon) == nil {
		t.Error("a lease of two days holds")
	}
	again := l.Renewed(noon.Add(5*time.Minute), 10*time.Minute)
	if again.ID != l.ID || !again.Since.Equal(l.Since) || !again.Until.Equal(noon.Add(15*time.Minute)) {
		t.Error(again)
	}
}

// TestNames: a lease's name is read in one form, and kept from everybody in the others.
func TestNames(t *testing.T) {
	l := lease.New("D-12", anID, "alpha.1", "process", time.Now(), time.Minute)
	if _, err := l.Format(); err != nil {
		t.Error(err)
	}
	if directive, id, ok := lease.ParseName(l.Name()); l.Name() != "D-12.0123456789abcdef" || !ok || directive != "D-12" || id != l.ID {
		t.Error(directive, id, ok)
	}
	if directive, err := lease.ParseRef(lease.Ref("D-12")); err != nil || directive != "D-12" {
		t.Error(directive, err)
	}
	for _, c := range []struct {
		name         string
		is, reserved bool
	}{
		{"D-3.0123456789abcdef", true, true},
		{"D-3.0123456789ABCDEF", false, true},
		{"d-3.0123456789abcdef", false, true},
		{"D-03.0123456789abcdef", false, true},
		{"D-3.0123456789abcdef0", false, true},
		{"D-3.1", false, true},
		{"D-3", false, true},
		{"D-0.0123456789abcdef", false, true},
		{"D-three.0123456789abcdef", false, false},
		{"D-", false, false},
		{"dana", false, false},
		{"x.D-3.0123456789abcdef", false, false},
		{"agent", false, false},
	} {
		if _, _, ok := lease.ParseName(c.name); ok != c.is || lease.Reserved(c.name) != c.reserved {
			t.Errorf("%s: a lease's %v, reserved %v", c.name, ok, lease.Reserved(c.name))
		}
	}
	for _, ref := range []string{"refs/ward/lease", "refs/ward/lease/", "refs/ward/lease/D-3.1", "refs/ward/lease/D-3/x", "refs/ward/uow/D-3", "D-3"} {
		if _, err := lease.ParseRef(ref); err == nil {
			t.Errorf("%s is read as a lease's", ref)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(written))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := lease.Parse("D-3", data)
		if err != nil {
			return
		}
		if again, err := l.Format(); err != nil || string(again) != string(data) {
			t.Errorf("%q is written as %q (%v)", data, again, err)
		}
	})
}
