package halting

import (
	"strings"
	"testing"

	"git-ward/vm/halting/proof"
)

// verdicts are programs whose behaviour is known by thought.
var verdicts = []struct {
	name   string
	text   string
	risk   Risk
	reason string // a part of it
}{
	{"empty", "", Low, "ERROR_NO_HALT after 0 instructions"},
	{"straight", "INC R0\nHALT", Low, "HALT after 2 instructions"},
	{"flags unset", "LABEL a\nJE a", Low, "ERROR_FLAGS_UNSET"},
	{"safe pattern of the source", "MOV R0 10\nLABEL l\nDEC R0\nCMP R0 0\nJNE l\nHALT", Low, "halts"},
	{"down from far", "MOV R0 1000000000000\nLABEL l\nDEC R0\nCMP R0 0\nJNE l\nHALT", Low, "R0 falls"},
	{"up to far", "LABEL l\nINC R1\nCMP R1 1000000000000\nJL l\nHALT", Low, "R1 grows"},
	{"stride divides", "MOV R0 3000000000000\nLABEL l\nSUB R0 3\nCMP R0 0\nJNE l\nHALT", Low, "R0 falls"},
	{"stride up divides", "MOV R0 -7000000000000\nLABEL l\nADD R0 7\nCMP R0 0\nJNE l\nHALT", Low, "R0 grows"},
	{"stride misses", "MOV R0 1000000000000\nLABEL l\nSUB R0 3\nCMP R0 0\nJNE l\nHALT", High, "overflow"},
	{"stride misses soon", "MOV R0 10\nLABEL l\nSUB R0 3\nCMP R0 0\nJNE l\nHALT", High, "overflow"},
	{"stride jumps over, but JG", "MOV R0 1000000000000\nLABEL l\nSUB R0 3\nCMP R0 0\nJG l\nHALT", Low, "R0 falls"},
	{"wrong way", "MOV R0 10\nLABEL l\nINC R0\nCMP R0 0\nJNE l\nHALT", High, "overflow"},
	{"passed already", "MOV R0 -1\nLABEL l\nDEC R0\nCMP R0 0\nJNE l\nHALT", High, "overflow"},
	{"unconditional", "LABEL l\nJMP l", High, "never halts"},
	{"unconditional counter", "LABEL l\nINC R0\nJMP l", High, "overflow"},
	{"unconditional, both ways", "LABEL l\nINC R0\nDEC R0\nJMP l", High, "never halts"},
	{"doubling ends soon", "MOV R0 1\nLABEL l\nADD R0 R0\nJMP l", Low, "ERROR_INTEGER_OVERFLOW"},
	{"right for ever", "LABEL l\nRIGHT\nJMP l", High, "1 cell further to the right"},
	{"left for ever, writing", "LABEL l\nWRITE 7\nLEFT\nJMP l", High, "1 cell further to the left"},
	{"tape that stays empty", "LABEL l\nREAD R0\nCMP R0 1\nJNE l\nHALT", High, "never halts"},
	{"tape that stays empty, counted", "LABEL l\nINC R1\nRIGHT\nREAD R0\nCMP R0 1\nJNE l\nHALT", High, "overflow"},
	{"nested", "MOV R0 1000000\nLABEL o\nMOV R1 1000000\nLABEL i\nDEC R1\nCMP R1 0\nJNE i\nDEC R0\nCMP R0 0\nJNE o\nHALT", Low, "R0 falls to a bound; in the loop of lines 4 to 7, R1 falls"},
	{"triangle", "MOV R0 10000000\nLABEL o\nMOV R1 R0\nLABEL i\nDEC R1\nCMP R1 0\nJNE i\nDEC R0\nCMP R0 0\nJNE o\nHALT", Low, "halts"},
	{"up to another register", "MOV R2 10000000\nLABEL o\nMOV R1 0\nLABEL i\nINC R1\nCMP R1 R2\nJNE i\nDEC R2\nCMP R2 0\nJNE o\nHALT", Low, "halts"},
	{"three deep", "LABEL a\nMOV R1 0\nLABEL b\nMOV R2 0\nLABEL c\nINC R2\nCMP R2 100000\nJL c\nINC R1\nCMP R1 100000\nJL b\nINC R0\nCMP R0 100000\nJL a\nHALT", Low, "halts"},
	{"net fall", "MOV R0 1000000000000\nLABEL l\nINC R0\nSUB R0 2\nCMP R0 0\nJG l\nHALT", Low, "R0 falls"},
	{"two meet", "MOV R0 0\nMOV R1 1000000000000\nLABEL l\nINC R0\nDEC R1\nCMP R0 R1\nJL l\nHALT", Low, "halts"},
	{"two meet exactly", "MOV R0 0\nMOV R1 1000000000000\nLABEL l\nINC R0\nCMP R0 R1\nJNE l\nHALT", Low, "halts"},
	{"by a register", "MOV R0 1000000000000\nMOV R1 3\nLABEL l\nSUB R0 R1\nCMP R0 0\nJG l\nHALT", Low, "R0 falls"},
	{"irreducible", "MOV R0 1000000000000\nCMP R0 5\nJG b\nLABEL a\nDEC R0\nLABEL b\nDEC R0\nCMP R0 0\nJG a\nHALT", Low, "R0 falls"},
	{"exit in the middle", "MOV R0 1000000000000\nLABEL l\nCMP R0 0\nJE out\nDEC R0\nJMP l\nLABEL out\nHALT", Low, "R0 falls"},
	{"greatest common divisor", "MOV R0 1000000000000\nMOV R1 7\nLABEL l\nCMP R0 R1\nJE out\nJG more\nSUB R1 R0\nJMP l\nLABEL more\nSUB R0 R1\nJMP l\nLABEL out\nHALT", Low, "halts"},
	{"Collatz of 27", "MOV R1 27\nLABEL l\nCMP R1 1\nJE out\nCALL mod R1 2\nCMP R0 0\nJE even\nCALL mul R1 3\nMOV R1 R0\nINC R1\nJMP l\nLABEL even\nCALL div R1 2\nMOV R1 R0\nJMP l\nLABEL out\nHALT", Low, "halts"},
	{"up, then down", "LABEL l\nCMP R2 0\nJNE down\nINC R0\nCMP R0 1000000000000\nJNE l\nMOV R2 1\nJMP l\nLABEL down\nDEC R0\nCMP R0 0\nJNE l\nHALT", Low, "R0 falls"},
	{"different strides meet", "MOV R0 1000000000000\nLABEL l\nADD R0 2\nADD R1 3\nCMP R0 R1\nJNE l\nHALT", Low, "halts"},
	{"different parities never meet", "MOV R0 1000000000001\nLABEL l\nADD R1 2\nCMP R0 R1\nJNE l\nHALT", High, "overflow"},
	{"drifting apart", "MOV R0 1\nLABEL l\nADD R0 3\nADD R1 2\nCMP R0 R1\nJNE l\nHALT", High, "overflow"},
	{"the inner loop spends the outer counter", "MOV R0 1000000000000\nLABEL o\nMOV R1 3\nLABEL i\nDEC R0\nCMP R0 0\nJE out\nDEC R1\nCMP R1 0\nJG i\nJMP o\nLABEL out\nHALT", Low, "R0 falls"},
	{"bounded by the tape's cells", "WRITE 5\nMOV R0 1000000000000\nLABEL l\nREAD R1\nRIGHT\nSUB R0 R1\nDEC R0\nCMP R0 0\nJG l\nHALT", Low, "R0 falls"},
	{"denied", "LABEL l\nCALL rm\nJMP l", Low, "ERROR_CALL_DENIED"},
	{"underflow", "RET", Low, "ERROR_STACK_UNDERFLOW"},
	{"printing for ever", "LABEL l\nCALL print \"x\"\nJMP l", High, "never halts"},
}

func TestVerdicts(t *testing.T) {
	refuse(t)
	for _, v := range verdicts {
		t.Run(v.name, func(t *testing.T) {
			p := parse(t, v.text)
			o := Options{Calls: tools, Steps: 5_000_000}
			r := Analyze(t.Context(), p, o)
			if r.Risk != v.risk || !strings.Contains(r.Reason, v.reason) {
				t.Errorf("%s (%s), want %s (...%s...); loops %v", r.Risk, r.Reason, v.risk, v.reason, r.Loops)
			}
			if r.Proof != nil {
				if err := proof.Check(t.Context(), Flat(p, o), r.Proof, o.Limits()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
