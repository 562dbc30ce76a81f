package logfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFloodForADay: a source that writes 50 KB each minute of a day is held to its share,
// and what is left out is counted and told; without a share it writes all of it.
func TestFloodForADay(t *testing.T) {
	const perMinute, line = 50_000, 100
	flood := func(share Share) (size, told, lines int) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			l := Limit(&log, share)
			minute := []byte(strings.Repeat(strings.Repeat("x", line-1)+"\n", perMinute/line))
			for range 24 * 60 {
				l.Write(minute)
				time.Sleep(time.Minute) // of the test's own clock
			}
			l.Flush()
			size = log.Len()
			for text := range strings.Lines(log.String()) {
				var n int
				if _, err := fmt.Sscanf(text, "(%d lines left out)", &n); err == nil {
					told += n
				} else {
					lines++
				}
			}
		})
		return size, told, lines
	}
	const all = 24 * 60 * perMinute
	size, told, lines := flood(Share{Burst: 1 << 20, PerMinute: 16 << 10, Told: Text})
	if most := 1<<20 + 24*60*(16<<10+40); size > most || told+lines != all/line {
		t.Errorf("%d bytes, more than %d; %d lines told and %d written of %d", size, most, told, lines, all/line)
	}
	t.Logf("%d of %d bytes written", size, all)
	if size, told, _ := flood(Share{Burst: all, PerMinute: all, Told: Text}); size != all || told != 0 {
		t.Errorf("without a share %d bytes, %d lines left out: the flood is none", size, told)
	}
}

// TestShare: lines are left out whole, one that is cut is ended, and the next minute has
// room again.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := Limit(&log, Share{Burst: 20, PerMinute: 10, Told: Text})
		for _, p := range []string{"0123456\n", "no end", " to it, and more than fits", " and on\nout\n", "in\n"} {
			if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		time.Sleep(61 * time.Second) // of the test's own clock
		synctest.Wait()
		l.Write([]byte("later\n"))
		const want = "0123456\nno end\nout\n(2 lines left out)\nlater\n"
		if got := log.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
