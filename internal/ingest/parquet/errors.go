package parquet

import (
	"errors"
	"fmt"
)

// Damage is the error of a file whose bytes violate the format or contradict each other.
type Damage struct {
	// Place is the damaged part, empty for the whole file.
	Place  string
	Reason string
}

func (e *Damage) Error() string {
	if e.Place == "" {
		return e.Reason
	}
	return e.Place + ": " + e.Reason
}

// Unsupported is the error of a feature of the format that this package does not support.
type Unsupported struct {
	Place   string
	Feature string
}

func (e *Unsupported) Error() string {
	if e.Place == "" {
		return "not supported: " + e.Feature
	}
	return "not supported: " + e.Feature + " of " + e.Place
}

func damaged(format string, args ...any) error { return &Damage{Reason: fmt.Sprintf(format, args...)} }

func unsupported(format string, args ...any) error {
	return &Unsupported{Feature: fmt.Sprintf(format, args...)}
}

// placed names the column chunk in an error that names no place yet.
func placed(err error, column string, group int) error {
	place := fmt.Sprintf("column [%s] in row group [%d]", column, group)
	if e, ok := errors.AsType[*Damage](err); ok && e.Place == "" {
		return &Damage{Place: place, Reason: e.Reason}
	}
	if e, ok := errors.AsType[*Unsupported](err); ok && e.Place == "" {
		return &Unsupported{Place: place, Feature: e.Feature}
	}
	return err
}
