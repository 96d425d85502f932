package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/fault"
)

// write writes the report and says on the terminal what was found.
func (d *doctor) write(cmd *cobra.Command, output string) error {
	if output == "-" {
		return d.print(cmd.OutOrStdout())
	}
	now := d.clock.Now().UTC()
	if output == "" {
		output = "henge-doctor-" + now.Format("20060102T150405Z") + ".tar.gz"
	}
	file, err := os.OpenFile(output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.InvalidInput("Report [%s] can't be written: %v", output, reasonOf(err))
	}
	if err := errors.Join(d.archive(file, now), file.Close()); err != nil {
		return fault.InvalidInput("Report [%s] can't be written: %v", output, reasonOf(errors.Join(err, os.Remove(output))))
	}
	out := cmd.OutOrStdout()
	for _, text := range d.found {
		fmt.Fprintln(out, termtext.Harmless(strings.ReplaceAll(text, "\n", " ")))
	}
	fmt.Fprintf(out, "The report is in %s. Review it before you send it (tar -xOf %s | less).\n", output, output)
	if !d.statements {
		fmt.Fprintln(out, "It contains no statements, and no values in messages; --with-statements adds both.")
	}
	return nil
}

// print writes the report as text.
func (d *doctor) print(w io.Writer) error {
	for _, p := range d.all() {
		if _, err := fmt.Fprintf(w, "===== %s =====\n%s\n", p.name, p.text); err != nil {
			return err
		}
	}
	return nil
}

// all are the parts of the report, what was found first.
func (d *doctor) all() []reportPart {
	found := "nothing\n"
	if len(d.found) > 0 {
		found = strings.Join(d.found, "\n") + "\n"
	}
	return append([]reportPart{{"found.txt", found}}, d.parts...)
}

// archive writes the report as one file.
func (d *doctor) archive(w io.Writer, at time.Time) error {
	packed := gzip.NewWriter(w)
	files := tar.NewWriter(packed)
	for _, p := range d.all() {
		err := files.WriteHeader(&tar.Header{Name: "henge-doctor/" + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: at})
		if err == nil {
			_, err = io.WriteString(files, p.text)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(files.Close(), packed.Close())
}
