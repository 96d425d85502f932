package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// reference is the reference system, which somebody started; it is asked over HTTP in the same words as Henge.
type reference struct{ server }

// joinReference asks the reference system's Router at an address for its version.
func joinReference(ctx context.Context, address string) (*reference, error) {
	if address == "" {
		return nil, errors.New("-engines: the reference system takes part if -reference says where its Router listens")
	}
	r := &reference{newServer("reference", "druid")}
	r.base = address
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/status", nil)
	if err != nil {
		return nil, fmt.Errorf("-reference: %w", err)
	}
	text, err := r.do(request)
	if err != nil {
		return nil, err
	}
	var status struct{ Version string }
	if err := decodeExact(text, &status); err != nil {
		return nil, fmt.Errorf("decoding the status of the reference system: %w", err)
	}
	r.told = status.Version
	return r, nil
}

func (r *reference) pid() int     { return 0 }
func (r *reference) close() error { return nil }

func (r *reference) cool() error {
	return errors.New("the reference system is not started anew by this program: leave it out of cold work")
}
