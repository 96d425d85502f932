package orc

// byteRuns reads bytes in runs: a length of three or more and the byte, or below zero how many
// bytes follow.
type byteRuns struct {
	in     *stored
	left   int
	repeat bool
	value  byte
}

func (r *byteRuns) next() (byte, error) {
	if r.left == 0 {
		c, err := r.in.byte()
		if err != nil {
			return 0, err
		}
		if r.repeat = c < 0x80; r.repeat {
			r.left = int(c) + 3
			if r.value, err = r.in.byte(); err != nil {
				return 0, err
			}
		} else {
			r.left = 256 - int(c)
		}
	}
	r.left--
	if r.repeat {
		return r.value, nil
	}
	return r.in.byte()
}

// bits reads bits, the highest of a byte first.
type bits struct {
	bytes byteRuns
	value byte
	left  int
}

func (r *bits) next() (bool, error) {
	if r.left == 0 {
		var err error
		if r.value, err = r.bytes.next(); err != nil {
			return false, err
		}
		r.left = 8
	}
	r.left--
	return r.value>>r.left&1 == 1, nil
}

// ints reads whole numbers in runs of either version.
type ints struct {
	in      *stored
	signed  bool
	version int
	values  []int64 // of the run that is read
	buf     [512]int64
}

func (r *ints) next() (int64, error) {
	if len(r.values) == 0 {
		n, err := r.run()
		if err != nil {
			return 0, err
		}
		r.values = r.buf[:n]
	}
	v := r.values[0]
	r.values = r.values[1:]
	return v, nil
}

// run reads the next run into buf and returns how many values it has.
func (r *ints) run() (int, error) {
	first, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	if r.version == 1 {
		return r.old(first)
	}
	switch first >> 6 {
	case 0:
		return r.repeated(first)
	case 1:
		return r.direct(first)
	case 2:
		return r.patched(first)
	}
	return r.deltas(first)
}

func (r *ints) number(v uint64) int64 {
	if r.signed {
		return zigzag(v)
	}
	return int64(v)
}

// old reads a run of version 1: of values with a constant difference, or of single values.
func (r *ints) old(first byte) (int, error) {
	if first >= 0x80 {
		n := 256 - int(first)
		for i := range n {
			v, err := r.in.varint()
			if err != nil {
				return 0, err
			}
			r.buf[i] = r.number(v)
		}
		return n, nil
	}
	delta, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	v, err := r.in.varint()
	n := int(first) + 3
	for i := range n {
		r.buf[i] = r.number(v) + int64(i)*int64(int8(delta))
	}
	return n, err
}

// repeated reads a short run of one value.
func (r *ints) repeated(first byte) (int, error) {
	v, err := r.big(int(first>>3&7) + 1)
	n := int(first&7) + 3
	for i := range n {
		r.buf[i] = r.number(v)
	}
	return n, err
}

// big reads n bytes, the highest first.
func (r *ints) big(n int) (uint64, error) {
	var v uint64
	for range n {
		c, err := r.in.byte()
		if err != nil {
			return 0, err
		}
		v = v<<8 | uint64(c)
	}
	return v, nil
}

// widthOf returns the bits of a value for their code.
func widthOf(code byte) int {
	if code < 24 {
		return int(code) + 1
	}
	return [8]int{26, 28, 30, 32, 40, 48, 56, 64}[code-24]
}

// fixedWidth returns the least width that values of so many bits are packed with.
func fixedWidth(bits int) int {
	switch {
	case bits <= 24:
		return max(bits, 1)
	case bits <= 32:
		return (bits + 1) &^ 1
	}
	return (bits + 7) &^ 7
}

// length reads the nine bits of a length.
func (r *ints) length(first byte) (int, error) {
	c, err := r.in.byte()
	return int(first&1)<<8 | int(c) + 1, err
}

// packed reads n values of a width.
func (r *ints) packed(n, width int, each func(i int, v uint64)) error {
	var have uint64
	bits := 0 // of have
	for i := range n {
		var v uint64
		for need := width; need > 0; {
			if bits == 0 {
				c, err := r.in.byte()
				if err != nil {
					return err
				}
				have, bits = uint64(c), 8
			}
			take := min(need, bits)
			bits -= take
			v = v<<take | have>>bits&(1<<take-1)
			need -= take
		}
		each(i, v)
	}
	return nil
}

func (r *ints) direct(first byte) (int, error) {
	n, err := r.length(first)
	if err != nil {
		return 0, err
	}
	return n, r.packed(n, widthOf(first>>1&31), func(i int, v uint64) { r.buf[i] = r.number(v) })
}

// patched reads values above a base, of which some have more bits than the others, told in a list
// of gaps and bits.
func (r *ints) patched(first byte) (int, error) {
	n, err := r.length(first)
	if err != nil {
		return 0, err
	}
	more, err := r.big(2)
	if err != nil {
		return 0, err
	}
	width, baseBytes, patchWidth := widthOf(first>>1&31), int(more>>13)+1, widthOf(byte(more>>8&31))
	gapWidth, patches := int(more>>5&7)+1, int(more&31)
	magnitude, err := r.big(baseBytes)
	if err != nil {
		return 0, err
	}
	base := int64(magnitude)
	if sign := uint64(1) << (8*baseBytes - 1); magnitude&sign != 0 {
		base = -int64(magnitude &^ sign)
	}
	if err := r.packed(n, width, func(i int, v uint64) { r.buf[i] = int64(v) }); err != nil {
		return 0, err
	}
	if gapWidth+patchWidth > 64 {
		return 0, errRun
	}
	at, damaged := 0, false
	err = r.packed(patches, fixedWidth(gapWidth+patchWidth), func(_ int, v uint64) {
		patch := v & (1<<patchWidth - 1)
		if at += int(v >> patchWidth & (1<<gapWidth - 1)); at >= n {
			damaged = true
			return
		}
		if width < 64 {
			r.buf[at] |= int64(patch << width)
		}
	})
	if damaged {
		return 0, errRun
	}
	for i := range n {
		r.buf[i] += base
	}
	return n, err
}

// deltas reads values by their differences.
func (r *ints) deltas(first byte) (int, error) {
	n, err := r.length(first)
	if err != nil {
		return 0, err
	}
	v, err := r.in.varint()
	if err != nil {
		return 0, err
	}
	d, err := r.in.varint()
	if err != nil {
		return 0, err
	}
	value, delta := r.number(v), zigzag(d)
	r.buf[0] = value
	code := first >> 1 & 31
	if code == 0 {
		for i := 1; i < n; i++ {
			r.buf[i] = r.buf[i-1] + delta
		}
		return n, nil
	}
	if n < 2 {
		return n, nil
	}
	r.buf[1] = value + delta
	return n, r.packed(n-2, widthOf(code), func(i int, v uint64) {
		if delta < 0 {
			v = -v
		}
		r.buf[i+2] = r.buf[i+1] + int64(v)
	})
}
