package git

import "encoding/binary"

// applyDelta makes what a delta makes of its base.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	to, m := binary.Uvarint(delta[max(n, 0):])
	if n <= 0 || m <= 0 || from != uint64(len(base)) || to > maxPacked {
		return nil, errPack
	}
	out := make([]byte, 0, to)
	for delta = delta[n+m:]; len(delta) > 0; {
		op := delta[0]
		delta = delta[1:]
		part := delta // what is inserted
		if size := int(op); op&0x80 == 0 {
			if op == 0 || len(delta) < size {
				return nil, errPack
			}
			part, delta = delta[:size], delta[size:]
		} else { // a copy: the bits say which bytes of offset and size follow
			var numbers [7]byte
			for i := range numbers {
				if op&(1<<i) == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, errPack
				}
				numbers[i], delta = delta[0], delta[1:]
			}
			offset := int(binary.LittleEndian.Uint32(numbers[:4]))
			if size = int(numbers[4]) | int(numbers[5])<<8 | int(numbers[6])<<16; size == 0 {
				size = 0x10000
			}
			if offset > len(base) || size > len(base)-offset {
				return nil, errPack
			}
			part = base[offset : offset+size]
		}
		if uint64(len(out)+len(part)) > to {
			return nil, errPack
		}
		out = append(out, part...)
	}
	if uint64(len(out)) != to {
		return nil, errPack
	}
	return out, nil
}
