// Package evidence collects properties of the values of a column: the types that can represent all
// of them unchanged (Class, Values), and whether they are times and in which format (Watch). A
// Finding counts occurrences and keeps the first one, with its Position.
//
// Package ingest reads the inputs (Surveyor) and draws the conclusions.
package evidence
