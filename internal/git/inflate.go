package git

import (
	"bufio"
	"compress/zlib"
	"io"
	"sync"
)

// An inflater inflates one object after another with the same memory. Its window, tables and
// buffers have some 50 kB: to make and collect them costs more than to inflate most objects.
type inflater struct {
	in, out *bufio.Reader
	z       io.ReadCloser // nil until a first stream has begun well
}

var inflaters = sync.Pool{New: func() any { return &inflater{in: bufio.NewReader(nil), out: bufio.NewReader(nil)} }}

// newInflater begins to inflate a stream of zlib's (RFC 1950), whose content is out. done is to be
// called in any case, and nothing is read after it.
func newInflater(stream io.Reader) (i *inflater, err error) {
	i = inflaters.Get().(*inflater)
	i.in.Reset(stream)
	if i.z == nil {
		i.z, err = zlib.NewReader(i.in)
	} else {
		err = i.z.(zlib.Resetter).Reset(i.in, nil)
	}
	if err == nil {
		i.out.Reset(i.z)
	}
	return i, err
}

// done gives it to the next one.
func (i *inflater) done() {
	i.in.Reset(nil) // which keeps no file
	inflaters.Put(i)
}
