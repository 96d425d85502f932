package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/record"
)

// statement writes the SQL of the load.
func (o *ingestOptions) statement(s *ingest.Survey, source json.RawMessage) (string, error) {
	partitionedBy := strings.ToUpper(o.partitionedBy)
	if s.Time == "" && o.copies {
		partitionedBy = "ALL"
	}
	types := map[string]string{}
	for _, c := range s.Columns {
		types[c.Name] = c.SQLType
		if c.Misfits.Count > 0 {
			types[c.Name] = "VARCHAR" // read as text, of which what fits is taken
		}
	}
	timeSQL := "TIMESTAMP '1970-01-01 00:00:00'"
	switch {
	case s.Time != "":
		timeSQL = evidence.TimeSQL(s.Time, types[s.Time], s.TimeFormat)
	case partitionedBy != "ALL":
		return "", fault.InvalidInput("No time column was found; set it with --time, or load without one with --partitioned-by ALL. The "+
			"columns are %s", columnNames(s))
	}
	var b strings.Builder
	if o.replace {
		fmt.Fprintf(&b, "REPLACE INTO %s OVERWRITE ALL\n", quoteName(o.into))
	} else {
		fmt.Fprintf(&b, "INSERT INTO %s\n", quoteName(o.into))
	}
	fmt.Fprintf(&b, "SELECT\n  %s AS __time", timeSQL)
	for _, c := range s.Columns {
		if c.Name == "__time" || c.Name == s.Time && !s.KeepTime {
			continue
		}
		value, err := columnSQL(c)
		if err != nil {
			return "", err
		}
		b.WriteString(",\n  " + value)
	}
	fmt.Fprintf(&b, "\nFROM TABLE(EXTERN(\n  %s,\n  %s\n)) EXTEND (", quoteText(string(source)), quoteText(string(s.Format)))
	for i, c := range s.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", quoteName(c.Name), types[c.Name])
	}
	b.WriteString(")")
	if s.Untimed.Count > 0 {
		fmt.Fprintf(&b, "\nWHERE %s IS NOT NULL", timeSQL)
	}
	fmt.Fprintf(&b, "\nPARTITIONED BY %s", partitionedBy)
	return b.String(), nil
}

// numberText are texts that are numbers.
const numberText = `^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`

// columnSQL is the expression of a column: of one with values that don't fit its type, NULL for
// those.
func columnSQL(c ingest.SurveyColumn) (string, error) {
	name := quoteName(c.Name)
	if c.Misfits.Count == 0 {
		return name, nil
	}
	switch c.SQLType {
	case "BIGINT": // a whole number as it is written, or one that a double holds: 2.0
		return fmt.Sprintf("CASE WHEN CAST(CAST(TRIM(%[1]s) AS BIGINT) AS VARCHAR) = TRIM(%[1]s)\n    OR REGEXP_LIKE(TRIM(%[1]s), '%[2]s') "+
			"AND ABS(CAST(TRIM(%[1]s) AS DOUBLE)) <= 9007199254740992 AND CAST(CAST(TRIM(%[1]s) AS BIGINT) AS DOUBLE) = CAST(TRIM(%[1]s) AS DOUBLE)\n    "+
			"THEN CAST(TRIM(%[1]s) AS BIGINT) END AS %[1]s", name, numberText), nil
	case "DOUBLE", "FLOAT":
		return fmt.Sprintf("CASE WHEN REGEXP_LIKE(TRIM(%[1]s), '%[2]s') THEN CAST(TRIM(%[1]s) AS %[3]s) END AS %[1]s", name, numberText, c.SQLType), nil
	}
	return "", fault.InvalidInput("Column [%s] cannot be loaded as %s: %d values are lists, objects, or of another "+
		"type; %s", record.Printable(c.Name), c.SQLType,
		c.Misfits.Count, c.Misfits.At())
}

func columnNames(s *ingest.Survey) string {
	names := make([]string, 0, len(s.Columns))
	for i, c := range s.Columns {
		if i == maxNames {
			names = append(names, fmt.Sprintf("and %d more", len(s.Columns)-i))
			break
		}
		names = append(names, "["+record.Printable(c.Name)+"]")
	}
	return strings.Join(names, " ")
}

// maxNames is how many columns a message names.
const maxNames = 50

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
