package edge

import "net/http"

// wire is the connection side of an answer: behind compression, in front of the network.
type wire struct {
	http.ResponseWriter
	pace   *pace // nil: that of an outer wire counts
	status int
	bytes  int64
	broken bool
}

// WriteHeader sends the status, unless the answer is broken.
func (o *wire) WriteHeader(status int) {
	if o.broken {
		return
	}
	if o.status < http.StatusOK { // informational ones may come before
		o.status = status
	}
	o.pace.step()
	o.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (o *wire) Write(p []byte) (int, error) {
	if o.broken {
		return 0, http.ErrAbortHandler
	}
	if o.status < http.StatusOK {
		o.status = http.StatusOK
	}
	n, err := o.pace.write(o.ResponseWriter, p)
	o.bytes += int64(n)
	return n, err
}

// Flush sends what is buffered.
func (o *wire) Flush() {
	if f, ok := o.ResponseWriter.(http.Flusher); ok && !o.broken {
		o.pace.flush(f)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (o *wire) Unwrap() http.ResponseWriter { return o.ResponseWriter }
