package querycontext

import "slices"

// Readers says who reads a parameter.
type Readers uint16

// The readers of parameters. CheckedBySQL and CheckedByNative refuse a value of the wrong kind
// before anything runs, whether or not the parameter has an effect there.
const (
	SQL             Readers = 1 << iota // SQL queries
	Native                              // native queries
	Statement                           // statements that run as tasks
	Batch                               // native batch, compaction and kill tasks
	Explain                             // EXPLAIN PLAN FOR
	Router                              // the choice of a Broker
	Server                              // nobody: the server writes it
	CheckedBySQL                        // checked when a statement is bound
	CheckedByNative                     // checked when a native query is decoded
)

// entry is one line of the list.
type entry struct {
	key, kind, shown, doc string
	readers               Readers
	// check reads the value of a context and drops it.
	check func(values map[string]any) error
}

// list has all parameters. It grows while the variables of this package are initialized.
var list []*entry

// Param is a parameter whose value is a T.
type Param[T any] struct {
	entry
	fallback T
	read     func(key string, v any) (T, error)
}

func add[T any](readers Readers, kind, key string, fallback T, shown, doc string, read func(key string, v any) (T, error)) *Param[T] {
	p := &Param[T]{entry{key: key, kind: kind, shown: shown, doc: doc, readers: readers}, fallback, read}
	p.check = func(values map[string]any) error {
		_, err := p.Read(values)
		return err
	}
	list = append(list, &p.entry)
	return p
}

// Key returns the name under which contexts have the parameter.
func (p *Param[T]) Key() string { return p.key }

// Keys returns the names of parameters.
func Keys(params ...interface{ Key() string }) []string {
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.Key()
	}
	return out
}

// Default returns the value of a context without the parameter.
func (p *Param[T]) Default() T { return p.fallback }

// In returns the value as the context has it, nil if it has none: for readers with rules of their
// own.
func (p *Param[T]) In(values map[string]any) any { return values[p.key] }

// Read returns the value of the parameter in a context. Absent and null give the default.
func (p *Param[T]) Read(values map[string]any) (T, error) { return p.Of(values[p.key], p.fallback) }

// Or is Read with another default.
func (p *Param[T]) Or(values map[string]any, fallback T) (T, error) {
	return p.Of(values[p.key], fallback)
}

// Of reads a value that was taken from a context.
func (p *Param[T]) Of(v any, fallback T) (T, error) {
	if v == nil {
		return fallback, nil
	}
	got, err := p.read(p.key, v)
	if err != nil {
		return fallback, err
	}
	return got, nil
}

// Reader reads several parameters of one context and keeps the first error.
type Reader struct {
	Values map[string]any
	err    error
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail keeps an error, if it is the first.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// From is Read; the default stands for a value that can't be read.
func (p *Param[T]) From(r *Reader) T { return p.FromOr(r, p.fallback) }

// FromOr is From with another default.
func (p *Param[T]) FromOr(r *Reader, fallback T) T {
	v, err := p.Or(r.Values, fallback)
	if err != nil {
		r.Fail(err)
	}
	return v
}

// Check reads all parameters that one of the readers checks and returns the first error.
func Check(by Readers, values map[string]any) error {
	for _, e := range list {
		if e.readers&by != 0 {
			if err := e.check(values); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names returns the names of all parameters that a client may set.
func Names() []string {
	var out []string
	for _, e := range list {
		if e.readers != Server {
			out = append(out, e.key)
		}
	}
	slices.Sort(out)
	return out
}
