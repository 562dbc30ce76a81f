package vm

import (
	"context"
	"os"
	"testing"

	"git-ward/vm/asm"
)

func BenchmarkBeaver(b *testing.B) {
	data, _ := os.ReadFile("testdata/plans/busy-beaver-5.udc")
	p, ds := asm.Parse("x", data)
	if ds != nil {
		b.Fatal(ds)
	}
	im, err := Link(p, nil)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		m, _ := New(im, DefaultLimits(), nil)
		r, _ := m.Run(context.Background())
		if r.Instructions != 283061220 || r.Tape.NonZero() != 4098 || r.State != Halted {
			b.Fatal(r.Instructions, r.Tape.NonZero(), r.State, r.Code)
		}
	}
}
