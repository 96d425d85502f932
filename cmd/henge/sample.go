package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

func sampleCommand() *cobra.Command {
	var o sampleOptions
	var start, span string
	cmd := &cobra.Command{
		Use:   "sample",
		Short: "Print sample events as lines of JSON, the same every time",
		Long: `Print events of a fictional web shop as lines of JSON: the same seed gives the same events.
Each has a time, a session, a user, a page, a country, a device, a browser, an action, tags, a price,
a quantity and a duration. Popularity is skewed, traffic follows the hours of the day, some values are missing.

With --rate the events have the current time and are evenly spaced, until --rows events are printed or the command is interrupted.`,
		Example: `  henge sample --rows 1000000 > events.json
  henge sample --rows 50000 --start 2026-01-01 --span P1D --seed 7 | gzip > day.json.gz
  henge sample --rate 1000 | henge ingest - --into events --live`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.rows < 0 {
				return fault.InvalidInput("Rows [%d] must not be negative", o.rows)
			}
			if cmd.Flags().Changed("rate") {
				if cmd.Flags().Changed("start") || cmd.Flags().Changed("span") {
					return fault.InvalidInput("--rate prints events with the current time; --start and --span are for past events")
				}
				if !cmd.Flags().Changed("rows") {
					o.rows = math.MaxInt64
				}
				return paceSample(cmd.Context(), cmd.OutOrStdout(), clock.System(), o)
			}
			from, ok := chrono.ParseTimestamp(start, chrono.UTC)
			if !ok {
				return fault.InvalidInput("Start [%s] is not a time; write 2026-01-01 or 2026-01-01T06:00:00", start)
			}
			period, err := chrono.ParsePeriod(span)
			if err != nil {
				return err
			}
			o.start, o.end = from, period.Add(from, chrono.UTC, 1)
			if o.end <= o.start {
				return fault.InvalidInput("Span [%s] must not be negative", span)
			}
			return writeSample(cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().Int64Var(&o.rows, "rows", 100_000, "number of events; with --rate the default is no limit")
	cmd.Flags().Float64Var(&o.rate, "rate", 0, "print this number of events per second, with the current time (default: past events)")
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "seed of the generator")
	cmd.Flags().StringVar(&start, "start", "2026-01-01", "time of the first event")
	cmd.Flags().StringVar(&span, "span", "P7D", "ISO 8601 period over which events are spread")
	return cmd
}

type sampleOptions struct {
	rows       int64
	seed       uint64
	start, end int64
	rate       float64 // events per second, for events of now
}

var (
	sampleCountries = []string{"US", "IN", "DE", "BR", "JP", "GB", "FR", "MX", "ID", "NG", "IT", "ES", "CA", "PL", "NL", "KE", "AU", "SE", "CH", "NZ"}
	sampleDevices   = []string{"phone", "desktop", "tablet", "tv"}
	sampleBrowsers  = []string{"Chrome", "Safari", "Firefox", "Edge", "Other"}
	sampleActions   = []string{"view", "view", "view", "view", "search", "search", "add_to_cart", "checkout", "purchase"}
	sampleSections  = []string{"shoes", "books", "garden", "music", "toys", "kitchen", "sports", "phones"}
	sampleTags      = []string{"new", "sale", "gift", "returning", "newsletter", "app", "coupon"}
)

// skewed picks an index below n; small ones are more likely (a Zipf-like square law).
func skewed(r *rand.Rand, n int) int {
	f := r.Float64()
	return int(f * f * float64(n))
}

// sampler makes events; the same seed gives the same ones.
type sampler struct{ r *rand.Rand }

func newSampler(seed uint64) *sampler {
	return &sampler{rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))}
}

func writeSample(w io.Writer, o sampleOptions) error {
	s := newSampler(o.seed)
	out := bufio.NewWriterSize(w, 1<<20)
	span := float64(o.end - o.start)
	var line []byte
	for i := int64(0); i < o.rows; i++ {
		// Events come in order; the pace swings with the hour of the day.
		share := (float64(i) + s.r.Float64()) / float64(o.rows)
		day := span / (24 * 60 * 60 * 1000)
		if day >= 1 {
			share += 0.12 / day * math.Sin(2*math.Pi*share*day) / (2 * math.Pi)
		}
		line = s.append(line[:0], o.start+int64(math.Min(math.Max(share, 0), 1)*(span-1)))
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// append appends the line of the next event, which happens at the given time.
func (s *sampler) append(line []byte, at int64) []byte {
	r := s.r
	user := skewed(r, 20_000)
	section := sampleSections[skewed(r, len(sampleSections))]
	action := sampleActions[r.IntN(len(sampleActions))]
	line = append(line, `{"time":"`...)
	line = chrono.AppendMillis(line, at, chrono.UTC)
	line = fmt.Appendf(line, `","session":"%08x","user":"user%05d","page":"/%s/item-%d","country":"%s","device":"%s","action":"%s"`,
		r.Uint32(), user, section, skewed(r, 400), sampleCountries[skewed(r, len(sampleCountries))], sampleDevices[skewed(r, len(sampleDevices))], action)
	if r.IntN(10) > 0 {
		line = fmt.Appendf(line, `,"browser":"%s"`, sampleBrowsers[skewed(r, len(sampleBrowsers))])
	} else {
		line = append(line, `,"browser":null`...)
	}
	line = append(line, `,"tags":[`...)
	for k, first := 0, true; k < len(sampleTags); k++ {
		if r.IntN(6) == 0 {
			if !first {
				line = append(line, ',')
			}
			first = false
			line = append(line, '"')
			line = append(line, sampleTags[k]...)
			line = append(line, '"')
		}
	}
	line = append(line, ']')
	if action == "purchase" || action == "checkout" || action == "add_to_cart" {
		line = append(line, `,"price":`...)
		line = strconv.AppendFloat(line, float64(99+skewed(r, 20_000))/100, 'f', 2, 64)
		line = fmt.Appendf(line, `,"quantity":%d`, 1+skewed(r, 5))
	}
	return fmt.Appendf(line, `,"duration_ms":%d}`+"\n", 20+skewed(r, 3000))
}
