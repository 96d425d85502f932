// Package wire reads the members of specs (sources, formats, flattenSpecs), and contains the faults
// for invalid members.
package wire
