package syntax

// slab hands out values of T from blocks, so that the many small nodes of a statement cost few
// allocations. Blocks live as long as any value in them does; a tree is kept or dropped whole, so
// nothing is held for long.
type slab[T any] struct {
	free []T
	next int // size of the next block
}

const (
	firstBlock = 4
	lastBlock  = 512
)

func (s *slab[T]) grow(need int) {
	s.next = min(max(2*s.next, firstBlock), lastBlock)
	s.free = make([]T, max(s.next, need))
}

// one returns a zero T.
func (s *slab[T]) one() *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// list returns a copy of vs, nil if it is empty.
func (s *slab[T]) list(vs []T) []T {
	n := len(vs)
	if n == 0 {
		return nil
	}
	if len(s.free) < n {
		s.grow(n)
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	copy(list, vs)
	return list
}

// reserve makes the first blocks as large as a text of ordinary statements needs them: it has a
// name in 24 bytes and a call in 64.
func (s *slabs) reserve(bytes int) {
	s.names.next, s.idents.next, s.calls.next = bytes/48, bytes/48, bytes/128
}

// slabs are the node types that make up nearly all of a statement.
type slabs struct {
	names    slab[Name]
	idents   slab[Ident]
	numbers  slab[Number]
	strings  slab[String]
	unaries  slab[Unary]
	binaries slab[Binary]
	calls    slab[Call]
	exprs    slab[Expr]
	rows     slab[Row]
}
