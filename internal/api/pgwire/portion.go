package pgwire

import (
	"context"
	"io"
)

// portion is the next rows of a cursor as a source of their own.
type portion struct {
	cursor *cursor
	left   int64
	now    int // how many are current
}

// next makes the rest of the cursor's batch current, as far as it is wanted.
func (p *portion) next(context.Context) (int, error) {
	r := p.cursor.rows
	if p.left == 0 {
		return 0, io.EOF
	}
	left, err := p.cursor.fill(nil)
	if err != nil {
		return 0, err
	}
	if left == 0 {
		p.left = 0
		return 0, io.EOF
	}
	n := int(min(int64(left), p.left))
	p.left -= int64(n)
	p.cursor.position += int64(n)
	r.at += n // append counts back from here
	p.now = n
	return n, nil
}

func (p *portion) append(dst []byte, row, column int, binary bool) ([]byte, bool) {
	r := p.cursor.rows
	return r.source.append(dst, r.at-p.now+row, column, binary)
}

func (p *portion) close() {}
