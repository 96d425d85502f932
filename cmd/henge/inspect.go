package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
)

func inspectCommand() *cobra.Command {
	var asJSON, verify bool
	cmd := &cobra.Command{
		Use:   "inspect SEGMENT...",
		Short: "Print the anatomy of segment files: columns, encodings, sizes, cardinalities",
		Long: `Print the anatomy of segment files: rows, columns with their encodings, sizes and cardinalities, indexes.

Segment files are in deep storage, by default in DATA/segments. The command only reads them: the server can keep running.`,
		Example: `  henge inspect henge-data/segments/segments/events/*/*.segment
  henge inspect --verify --json one.segment`,
		Args: atLeast("the segment file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, path := range args {
				anatomy, err := inspectFile(path, verify)
				if err != nil {
					return err
				}
				if !asJSON {
					if err := anatomy.WriteText(cmd.OutOrStdout()); err != nil {
						return err
					}
					continue
				}
				text, err := json.MarshalIndent(anatomy, "", "  ")
				if err != nil {
					return fmt.Errorf("writing the anatomy of [%s]: %w", path, err)
				}
				fmt.Fprintln(cmd.OutOrStdout(), string(text))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&verify, "verify", false, "read the whole file and verify all checksums")
	return cmd
}

func inspectFile(path string, verify bool) (*segment.Anatomy, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fault.InvalidInput("File [%s] can't be read: %v", path, reasonOf(err))
	}
	s, err := segment.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if verify {
		if err := s.Verify(); err != nil {
			return nil, err
		}
	}
	return segment.Inspect(s)
}
