package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// flightsPackage holds 3 M real flights of the United States in 2001 as Parquet, and the airports
// as CSV.
const flightsPackage = "vega-datasets@3.2.1"

// fetchFlights takes the files out of the npm package, which the registry's own client fetches into
// dir.
func fetchFlights(ctx context.Context, dir string) (flights, airports string, err error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", flightsPackage)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("fetching [%s] by npm: %w", flightsPackage, err)
	}
	packed, err := filepath.Glob(filepath.Join(dir, "vega-datasets-*.tgz"))
	if err != nil || len(packed) != 1 {
		return "", "", errors.Join(fmt.Errorf("npm left [%d] packages in [%s]", len(packed), dir), err)
	}
	f, err := os.Open(packed[0])
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return "", "", fmt.Errorf("unpacking [%s]: %w", packed[0], err)
	}
	flights, airports = filepath.Join(dir, "flights-3m.parquet"), filepath.Join(dir, "airports.csv")
	missing := 2
	for all := tar.NewReader(plain); missing > 0; {
		header, err := all.Next()
		if err != nil {
			return "", "", fmt.Errorf("looking for the flights in [%s]: %w", packed[0], err)
		}
		to := filepath.Join(dir, path.Base(header.Name))
		if to != flights && to != airports {
			continue
		}
		out, err := os.Create(to)
		if err != nil {
			return "", "", err
		}
		_, err = io.Copy(out, all)
		if err := errors.Join(err, out.Close()); err != nil {
			return "", "", fmt.Errorf("unpacking [%s]: %w", header.Name, err)
		}
		missing--
	}
	return flights, airports, nil
}

// flightTables are the tables of the two files. Airports have no time of their own.
func flightTables(flights, airports string) []*table {
	return []*table{
		{
			name: "flights", rows: 3_000_000, given: flights, partitionedBy: "MONTH",
			time:    &timeOf{column: "date", hengeType: "BIGINT", henge: `MILLIS_TO_TIMESTAMP("date")`, duck: `epoch_ms("date")`},
			columns: []column{{"delay", "BIGINT"}, {"distance", "BIGINT"}, {"origin", "VARCHAR"}, {"destination", "VARCHAR"}},
		},
		{
			name: "airports", rows: 3376, given: airports, partitionedBy: "ALL",
			time: &timeOf{henge: "TIMESTAMP '2001-01-01'", duck: "978307200000"},
			columns: []column{{"iata", "VARCHAR"}, {"name", "VARCHAR"}, {"city", "VARCHAR"}, {"state", "VARCHAR"}, {"country", "VARCHAR"},
				{"latitude", "DOUBLE"}, {"longitude", "DOUBLE"}},
		},
	}
}

func flightQueries() []query {
	return []query{
		everywhere("flights and delay by origin", `SELECT origin, COUNT(*), AVG(delay), MAX(delay) FROM flights GROUP BY origin ORDER BY 2 DESC, 1`),
		everywhere("ten routes", `SELECT origin, destination, COUNT(*), SUM(distance) FROM flights GROUP BY origin, destination ORDER BY 3 DESC, 1, 2 LIMIT 10`),
		everywhere("by day", `SELECT COUNT(*), SUM(delay), MIN(distance) FROM flights GROUP BY {day} ORDER BY 1, 2, 3`),
		everywhere("long delays of one airport", `SELECT destination, COUNT(*) FROM flights WHERE origin = 'ORD' AND delay > 60 GROUP BY destination ORDER BY 2 DESC, 1`),
		everywhere("by state", `SELECT a.state, COUNT(*), AVG(f.delay) FROM flights f JOIN airports a ON f.origin = a.iata GROUP BY a.state ORDER BY 2 DESC, 1`),
		everywhere("distinct", `SELECT COUNT(DISTINCT origin), COUNT(DISTINCT destination), COUNT(DISTINCT distance) FROM flights`),
		everywhere("airports", `SELECT state, COUNT(*), MIN(latitude), MAX(longitude) FROM airports GROUP BY state ORDER BY 2 DESC, 1`),
	}
}

// flights loads the real flights and asks for them: Henge and DuckDB only.
func (r *race) flights(ctx context.Context, loads int) error {
	all := r.engines
	defer func() { r.engines = all }()
	r.engines = slices.DeleteFunc(slices.Clone(all), func(e engine) bool { return e.name() != hengeName && e.name() != duckName })
	flights, airports, err := fetchFlights(ctx, r.dir)
	if err != nil {
		return err
	}
	for i, t := range flightTables(flights, airports) {
		if err := r.load(ctx, t, []fileFormat{parquet, csv}[i], loads); err != nil {
			return err
		}
		if err := r.sizes(ctx, t); err != nil {
			return err
		}
	}
	return r.queries(ctx, "Flights of 2001", flightQueries())
}
